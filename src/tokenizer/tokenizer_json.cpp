#include "tokenizer/tokenizer_json.h"

#include <simdjson.h>
#include <cstddef>
#include <optional>
#include <string>

#include "tokenizer/pre_tokenizer.h"

namespace paceline {
namespace {

namespace dom = simdjson::dom;

tl::unexpected<Error> bad(const std::string& what) {
  return fail(ErrorCode::kBadFile, "tokenizer.json: " + what);
}

std::string_view string_or_empty(simdjson::simdjson_result<dom::element> value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

bool is_true(simdjson::simdjson_result<dom::element> value) {
  bool flag = false;
  return value.get(flag) == simdjson::SUCCESS && flag;
}

// Merges come as `"a b"` or, in newer files, as `["a", "b"]`.
std::optional<std::pair<std::string, std::string>> read_merge(dom::element merge) {
  std::string_view text;
  if (merge.get(text) == simdjson::SUCCESS) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return std::pair(std::string(text.substr(0, space)), std::string(text.substr(space + 1)));
  }
  dom::array halves;
  if (merge.get(halves) != simdjson::SUCCESS || halves.size() != 2) return std::nullopt;
  const std::string_view left = string_or_empty(halves.at(0));
  const std::string_view right = string_or_empty(halves.at(1));
  if (left.empty() || right.empty()) return std::nullopt;
  return std::pair(std::string(left), std::string(right));
}

Result<void> check_normalizer(dom::element root) {
  if (string_or_empty(root["normalizer"]["type"]) != "NFC") {
    return bad("`normalizer` is not NFC alone, which is the only one supported");
  }
  return {};
}

// Accepts the sequence of Qwen2: Split by its pattern, then ByteLevel without a pattern of its own.
Result<void> check_pre_tokenizer(dom::element root) {
  dom::array steps;
  if (root["pre_tokenizer"]["pretokenizers"].get(steps) != simdjson::SUCCESS || steps.size() != 2) {
    return bad("`pre_tokenizer` is not a Split followed by ByteLevel");
  }
  const auto split = steps.at(0);
  const auto byte_level = steps.at(1);
  const bool is_qwen2_split = string_or_empty(split["type"]) == "Split" &&
                              string_or_empty(split["behavior"]) == "Isolated" &&
                              !is_true(split["invert"]) &&
                              string_or_empty(split["pattern"]["Regex"]) == qwen2_split_pattern();
  if (!is_qwen2_split) return bad("the split pattern of `pre_tokenizer` is not that of Qwen2");
  const bool is_plain_byte_level = string_or_empty(byte_level["type"]) == "ByteLevel" &&
                                   !is_true(byte_level["add_prefix_space"]) &&
                                   !is_true(byte_level["use_regex"]);
  if (!is_plain_byte_level)
    return bad("the second step of `pre_tokenizer` is not a plain ByteLevel");
  return {};
}

Result<void> check_model(dom::element root) {
  const auto model = root["model"];
  if (string_or_empty(model["type"]) != "BPE") return bad("`model.type` is not BPE");
  for (const char* option : {"ignore_merges", "byte_fallback", "fuse_unk"}) {
    if (is_true(model[option])) return bad(std::string("`model.") + option + "` is not supported");
  }
  for (const char* option : {"continuing_subword_prefix", "end_of_word_suffix", "unk_token"}) {
    if (!string_or_empty(model[option]).empty()) {
      return bad(std::string("`model.") + option + "` is not supported");
    }
  }
  return {};
}

/// Tokens as they are read, by id; the ids may come in any order.
class TokenTable {
 public:
  explicit TokenTable(std::size_t max_tokens) : max_tokens_(max_tokens) {}

  // An added token may repeat an entry of the vocabulary, which it then retypes.
  Result<void> add(std::string_view token, std::int64_t id, TokenType type) {
    if (id < 0 || static_cast<std::size_t>(id) >= max_tokens_) {
      return bad("token `" + std::string(token) + "` has id " + std::to_string(id) +
                 ", but there are only " + std::to_string(max_tokens_) + " tokens");
    }
    const auto i = static_cast<std::size_t>(id);
    if (i >= spec_.tokens.size()) {
      spec_.tokens.resize(i + 1);
      spec_.types.resize(i + 1, TokenType::kUnused);
    }
    if (spec_.types[i] != TokenType::kUnused && spec_.tokens[i] != token) {
      return bad("tokens `" + spec_.tokens[i] + "` and `" + std::string(token) + "` both have id " +
                 std::to_string(id));
    }
    spec_.tokens[i] = token;
    spec_.types[i] = type;
    return {};
  }

  TokenizerSpec take() { return std::move(spec_); }

 private:
  std::size_t max_tokens_;
  TokenizerSpec spec_;
};

Result<void> read_added_token(dom::element token, TokenTable& table) {
  std::int64_t id = 0;
  const std::string_view content = string_or_empty(token["content"]);
  if (content.empty() || token["id"].get(id) != simdjson::SUCCESS) {
    return bad("an entry of `added_tokens` has no `id` or `content`");
  }
  for (const char* option : {"normalized", "single_word", "lstrip", "rstrip"}) {
    if (is_true(token[option])) {
      return bad("added token `" + std::string(content) + "` has `" + option +
                 "`, which is not supported");
    }
  }
  return table.add(content, id,
                   is_true(token["special"]) ? TokenType::kControl : TokenType::kUserDefined);
}

Result<TokenizerSpec> read_tokens(dom::element root) {
  dom::object vocab;
  if (root["model"]["vocab"].get(vocab) != simdjson::SUCCESS)
    return bad("`model.vocab` is missing");
  dom::array added;
  const bool has_added = root["added_tokens"].get(added) == simdjson::SUCCESS;
  // Counted one by one, because simdjson's size() saturates at 2^24 - 1.
  std::size_t num_tokens = 0;
  for ([[maybe_unused]] const dom::key_value_pair field : vocab) ++num_tokens;
  if (has_added) num_tokens += added.size();
  TokenTable table(num_tokens);
  for (const dom::key_value_pair field : vocab) {
    std::int64_t id = 0;
    if (field.value.get(id) != simdjson::SUCCESS) {
      return bad("the id of token `" + std::string(field.key) + "` is not an integer");
    }
    if (auto result = table.add(field.key, id, TokenType::kNormal); !result) {
      return tl::unexpected(result.error());
    }
  }
  if (has_added) {
    for (const dom::element token : added) {
      if (auto result = read_added_token(token, table); !result) {
        return tl::unexpected(result.error());
      }
    }
  }
  return table.take();
}

Result<void> read_merges(dom::element root, TokenizerSpec& spec) {
  dom::array merges;
  if (root["model"]["merges"].get(merges) != simdjson::SUCCESS)
    return bad("`model.merges` is missing");
  for (const dom::element element : merges) {
    auto merge = read_merge(element);
    if (!merge)
      return bad("merge " + std::to_string(spec.merges.size()) + " is not a pair of tokens");
    spec.merges.push_back(*std::move(merge));
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> read_tokenizer_json(std::string_view json) {
  dom::parser parser;
  const simdjson::padded_string padded(json);
  dom::element root;
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    return bad(simdjson::error_message(error));
  }
  for (const auto& check : {check_normalizer, check_pre_tokenizer, check_model}) {
    if (auto result = check(root); !result) return tl::unexpected(result.error());
  }
  auto spec = read_tokens(root);
  if (!spec) return spec;
  if (auto result = read_merges(root, *spec); !result) return tl::unexpected(result.error());
  spec->pre_tokenizer = "qwen2";
  return spec;
}

}  // namespace paceline
