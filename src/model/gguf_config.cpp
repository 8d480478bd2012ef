#include "model/gguf_config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/byte_reader.h"

namespace paceline {
namespace {

/// Prefix of the hyper-parameters: the name of the one supported architecture.
constexpr std::string_view kPrefix = "qwen2.";

tl::unexpected<Error> bad_key(const GgufMetadata& metadata, std::string_view key,
                              const std::string& message) {
  return fail(ErrorCode::kBadFile, metadata.file() + ": key " + quote_name(key) + ": " + message);
}

/// Collects fields until the first that has a wrong type.
class FieldReader {
 public:
  explicit FieldReader(const GgufMetadata& metadata) : metadata_(metadata) {}

  ConfigField<std::int64_t> integer(std::string_view key) {
    std::string full_key = std::string(kPrefix).append(key);
    auto value = metadata_.find_integer(full_key);
    return {std::move(full_key), keep(std::move(value))};
  }
  ConfigField<double> number(std::string_view key) {
    std::string full_key = std::string(kPrefix).append(key);
    auto value = metadata_.find_number(full_key);
    return {std::move(full_key), keep(std::move(value))};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  template <typename T>
  std::optional<T> keep(Result<std::optional<T>> value) {
    if (value) return *value;
    if (!error_) error_ = std::move(value.error());
    return std::nullopt;
  }

  const GgufMetadata& metadata_;
  std::optional<Error> error_;
};

/// Returns a string value; empty when absent.
Result<std::string> string_or_empty(const GgufMetadata& metadata, std::string_view key) {
  return metadata.find_string(key).map([](const std::optional<std::string_view>& value) {
    return std::string(value.value_or(std::string_view()));
  });
}

/// Features that change the computation and are not implemented.
Result<void> check_features(const GgufMetadata& metadata) {
  constexpr std::string_view kScaling = "qwen2.rope.scaling.type";
  auto scaling = string_or_empty(metadata, kScaling);
  if (!scaling) return tl::unexpected(std::move(scaling.error()));
  if (!scaling->empty() && *scaling != "none") {
    return bad_key(metadata, kScaling,
                   "RoPE scaling " + quote_name(*scaling) + " is not supported");
  }
  constexpr std::string_view kWindow = "qwen2.attention.sliding_window";
  auto window = metadata.find_integer(kWindow);
  if (!window) return tl::unexpected(std::move(window.error()));
  if (window->value_or(0) != 0) {
    return bad_key(metadata, kWindow, "sliding-window attention is not supported");
  }
  return {};
}

Result<void> read_tokens(const GgufMetadata& metadata, TokenizerMetadata& tokenizer) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  auto tokens = metadata.find_strings(kTokens);
  if (!tokens) return tl::unexpected(std::move(tokens.error()));
  if (!tokens->has_value() || (*tokens)->empty()) {
    return bad_key(metadata, kTokens, "is missing or empty");
  }
  tokenizer.tokens.assign((*tokens)->begin(), (*tokens)->end());

  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  auto types = metadata.find_integers(kTypes);
  if (!types) return tl::unexpected(std::move(types.error()));
  if (!types->has_value()) return {};
  if ((*types)->size() != tokenizer.tokens.size()) {
    return bad_key(metadata, kTypes,
                   "expected one per token (" + std::to_string(tokenizer.tokens.size()) +
                       "), found " + std::to_string((*types)->size()));
  }
  for (const std::int64_t type : **types) {
    if (type < 1 || type > 6) {
      return bad_key(metadata, kTypes, "expected 1 to 6, found " + std::to_string(type));
    }
    tokenizer.types.push_back(static_cast<std::int32_t>(type));
  }
  return {};
}

Result<void> read_merges(const GgufMetadata& metadata, TokenizerMetadata& tokenizer) {
  constexpr std::string_view kMerges = "tokenizer.ggml.merges";
  auto merges = metadata.find_strings(kMerges);
  if (!merges) return tl::unexpected(std::move(merges.error()));
  if (!merges->has_value() || (*merges)->empty()) {
    return bad_key(metadata, kMerges, "is missing or empty");
  }
  tokenizer.merges.reserve((*merges)->size());
  for (const std::string_view merge : **merges) {
    // The byte-level alphabet has no space, so the only one separates the halves.
    const std::size_t space = merge.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != std::string_view::npos) {
      return bad_key(metadata, kMerges,
                     "expected two pieces with one space between, found " + quote_name(merge) +
                         " at index " + std::to_string(tokenizer.merges.size()));
    }
    tokenizer.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return {};
}

Result<void> read_end_ids(const GgufMetadata& metadata, TokenizerMetadata& tokenizer,
                          std::vector<std::string>& warnings) {
  for (const std::string_view key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    auto id = metadata.find_integer(key);
    if (!id) return tl::unexpected(std::move(id.error()));
    if (!id->has_value()) continue;
    const auto num_tokens = static_cast<std::int64_t>(tokenizer.tokens.size());
    if (**id < 0 || **id >= num_tokens) {
      return bad_key(
          metadata, key,
          "expected an id below " + std::to_string(num_tokens) + ", found " + std::to_string(**id));
    }
    const auto end_id = static_cast<std::int32_t>(**id);
    if (std::ranges::find(tokenizer.end_ids, end_id) == tokenizer.end_ids.end()) {
      tokenizer.end_ids.push_back(end_id);
    }
  }
  if (tokenizer.end_ids.empty()) {
    warnings.push_back(metadata.file() +
                       ": key 'tokenizer.ggml.eos_token_id' is missing, only the end tokens known "
                       "for Qwen are used");
  }
  return {};
}

/// Names under which files carry the Qwen2 split pattern.
bool is_qwen2_pattern(std::string_view name) {
  return name == "qwen2" || name == "deepseek-r1-qwen";
}

Result<void> read_pre_tokenizer(const GgufMetadata& metadata, TokenizerMetadata& tokenizer,
                                std::vector<std::string>& warnings) {
  constexpr std::string_view kModel = "tokenizer.ggml.model";
  auto model = string_or_empty(metadata, kModel);
  if (!model) return tl::unexpected(std::move(model.error()));
  if (*model != "gpt2") {
    return bad_key(metadata, kModel,
                   "expected 'gpt2' (byte-level BPE), found " + quote_name(*model));
  }
  constexpr std::string_view kPre = "tokenizer.ggml.pre";
  auto pre = string_or_empty(metadata, kPre);
  if (!pre) return tl::unexpected(std::move(pre.error()));
  if (!pre->empty() && !is_qwen2_pattern(*pre)) {
    return bad_key(metadata, kPre,
                   "expected 'qwen2', the only supported split pattern, found " + quote_name(*pre));
  }
  if (pre->empty()) {
    warnings.push_back(metadata.file() + ": key 'tokenizer.ggml.pre' is missing, 'qwen2' is used");
  }
  tokenizer.pre_tokenizer = "qwen2";
  return {};
}

}  // namespace

Result<ModelConfig> read_gguf_config(const GgufMetadata& metadata,
                                     std::vector<std::string>& warnings) {
  constexpr std::string_view kArchitecture = "general.architecture";
  auto architecture = string_or_empty(metadata, kArchitecture);
  if (!architecture) return tl::unexpected(std::move(architecture.error()));
  if (auto checked = check_architecture(metadata.file(), kArchitecture, *architecture); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  if (auto checked = check_features(metadata); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  FieldReader reader(metadata);
  ConfigFields fields;
  fields.file = metadata.file();
  fields.n_layers = reader.integer("block_count");
  fields.hidden_size = reader.integer("embedding_length");
  fields.n_heads = reader.integer("attention.head_count");
  fields.n_kv_heads = reader.integer("attention.head_count_kv");
  fields.ffn_size = reader.integer("feed_forward_length");
  fields.max_context = reader.integer("context_length");
  fields.head_dims = {reader.integer("attention.key_length"),
                      reader.integer("attention.value_length"),
                      reader.integer("rope.dimension_count")};
  fields.rms_eps = reader.number("attention.layer_norm_rms_epsilon");
  fields.rope_theta = reader.number("rope.freq_base");
  if (reader.error()) return tl::unexpected(*reader.error());
  auto config = check_config(fields, warnings);
  if (!config) return config;
  auto name = string_or_empty(metadata, "general.name");
  if (!name) return tl::unexpected(std::move(name.error()));
  config->name = std::move(*name);
  return config;
}

Result<TokenizerMetadata> read_gguf_tokenizer(const GgufMetadata& metadata,
                                              std::vector<std::string>& warnings) {
  TokenizerMetadata tokenizer;
  auto read = read_pre_tokenizer(metadata, tokenizer, warnings)
                  .and_then([&] { return read_tokens(metadata, tokenizer); })
                  .and_then([&] { return read_merges(metadata, tokenizer); })
                  .and_then([&] { return read_end_ids(metadata, tokenizer, warnings); });
  if (!read) return tl::unexpected(std::move(read.error()));
  auto chat_template = string_or_empty(metadata, "tokenizer.chat_template");
  if (!chat_template) return tl::unexpected(std::move(chat_template.error()));
  if (chat_template->empty()) {
    warnings.push_back(metadata.file() +
                       ": key 'tokenizer.chat_template' is missing, Qwen's ChatML is used");
  }
  tokenizer.chat_template = std::move(*chat_template);
  return tokenizer;
}

}  // namespace paceline
