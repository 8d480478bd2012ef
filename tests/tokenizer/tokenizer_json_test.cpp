#include "tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void append_item(std::string& list, const std::string& item) {
  if (!list.empty()) list += ',';
  list += item;
}

std::string merges_json(const TokenizerSpec& spec, bool as_pairs) {
  std::string merges;
  for (const auto& [left, right] : spec.merges) {
    append_item(merges, as_pairs ? '[' + json_string(left) + ',' + json_string(right) + ']'
                                 : json_string(left + ' ' + right));
  }
  return merges;
}

// The tiny vocabulary as tokenizer.json writes it.
std::string tiny_json(bool merges_as_pairs) {
  const TokenizerSpec spec = tiny_vocabulary();
  std::string vocab;
  std::string added;
  for (std::size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string id = std::to_string(i);
    if (spec.types[i] == TokenType::kNormal) {
      append_item(vocab, json_string(spec.tokens[i]) + ':' + id);
    } else {
      const bool is_special = spec.types[i] == TokenType::kControl;
      append_item(added, R"({"id":)" + id + R"(,"content":)" + json_string(spec.tokens[i]) +
                             R"(,"single_word":false,"lstrip":false,"rstrip":false,)" +
                             R"("normalized":false,"special":)" +
                             (is_special ? "true}" : "false}"));
    }
  }
  return R"({"version":"1.0","added_tokens":[)" + added +
         R"(],"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
         R"({"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}])" +
         R"(?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},)" +
         R"("behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,)" +
         R"("trim_offsets":false,"use_regex":false}]},"model":{"type":"BPE","dropout":null,)" +
         R"("unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"",)" +
         R"("fuse_unk":false,"byte_fallback":false,"vocab":{)" + vocab + R"(},"merges":[)" +
         merges_json(spec, merges_as_pairs) + "]}}";
}

TEST(TokenizerJsonTest, GivesTheVocabularyWithBothFormsOfMerges) {
  const TokenizerSpec expected = tiny_vocabulary();
  for (const bool as_pairs : {false, true}) {
    const auto spec = read_tokenizer_json(tiny_json(as_pairs));

    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    EXPECT_EQ(spec->tokens, expected.tokens);
    EXPECT_EQ(spec->types, expected.types);
    EXPECT_EQ(spec->merges, expected.merges);
    EXPECT_EQ(spec->pre_tokenizer, "qwen2");
    EXPECT_TRUE(make_bpe_tokenizer(*spec).has_value());
  }
}

TEST(TokenizerJsonTest, FilesThatWouldGiveOtherIdsAreRefusedByName) {
  struct Case {
    std::string_view find;
    std::string_view replace;
    std::string_view message;
  };
  const Case cases[] = {
      {R"({"version")", R"(["version")", "tokenizer.json: "},
      {R"({"type":"NFC"})", "null", "`normalizer`"},
      {R"("type":"NFC")", R"("type":"NFKC")", "`normalizer`"},
      {R"("Isolated")", R"("Removed")", "split pattern"},
      {R"(|\\p{N}|)", R"(|\\p{N}{1,3}|)", "split pattern"},
      {R"("use_regex":false)", R"("use_regex":true)", "ByteLevel"},
      {R"("add_prefix_space":false)", R"("add_prefix_space":true)", "ByteLevel"},
      {R"({"type":"ByteLevel")", R"({"type":"Digits"},{"type":"ByteLevel")", "`pre_tokenizer`"},
      {R"("type":"BPE")", R"("type":"Unigram")", "`model.type`"},
      {R"("byte_fallback":false)", R"("byte_fallback":true)", "`model.byte_fallback`"},
      {R"("unk_token":null)", R"("unk_token":"?")", "`model.unk_token`"},
      {R"("vocab":{)", R"("vocabulary":{)", "`model.vocab`"},
      {R"("merges":[)", R"("merge":[)", "`model.merges`"},
      {R"("merges":[)", R"("merges":[7,)", "merge 0"},
      {R"("merges":[)", R"("merges":["ab",)", "merge 0"},
      {R"("merges":[)", R"("merges":[["a","b","c"],)", "merge 0"},
      {R"("id":265)", R"("id":99999999999)", "id 99999999999"},
      {R"("id":265)", R"("id":-1)", "id -1"},
      {R"("id":265)", R"("id":264)", "both have id 264"},
      {R"("id":265)", R"("no":265)", "`added_tokens`"},
      {R"("single_word":false)", R"("single_word":true)", "`single_word`"},
      {R"("normalized":false)", R"("normalized":true)", "`normalized`"},
      {R"("Hello":259)", R"("Hello":"259")", "`Hello`"},
  };
  for (const Case& c : cases) {
    std::string json = tiny_json(false);
    const std::size_t pos = json.find(c.find);
    ASSERT_NE(pos, std::string::npos) << c.find;
    json.replace(pos, c.find.size(), c.replace);

    const auto spec = read_tokenizer_json(json);

    ASSERT_FALSE(spec.has_value()) << c.replace;
    EXPECT_EQ(spec.error().code, ErrorCode::kBadFile);
    EXPECT_THAT(spec.error().message, HasSubstr(c.message));
  }
}

TEST(TokenizerJsonTest, GapInTheIdsIsRefusedWhenTheTokenizerIsBuilt) {
  std::string json = tiny_json(false);
  const std::string_view entry = R"("Hello":259)";
  json.replace(json.find(entry), entry.size(), R"("Hello":258)");

  EXPECT_FALSE(read_tokenizer_json(json).has_value());

  json = tiny_json(false);
  json.replace(json.find(R"("Hello":259,)"), entry.size() + 1, "");
  const auto spec = read_tokenizer_json(json);
  EXPECT_FALSE(spec.has_value() && make_bpe_tokenizer(*spec).has_value());
}

TEST(TokenizerJsonTest, EveryTruncationIsAnError) {
  const std::string json = tiny_json(true);
  for (std::size_t length = 0; length < json.size(); length += 37) {
    EXPECT_FALSE(read_tokenizer_json(json.substr(0, length)).has_value()) << length;
  }
}

TEST(TokenizerJsonTest, DamagedFilesGiveAnErrorOrATokenizer) {
  constexpr unsigned kSeed = 23;
  std::mt19937 random(kSeed);
  const std::string json = tiny_json(true);
  int num_read = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = json;
    for (int i = 0; i < 3; ++i) {
      damaged[random() % damaged.size()] = "0:,\"[]{}x\x80"[random() % 10];
    }

    const auto spec = read_tokenizer_json(damaged);

    if (!spec) {
      ASSERT_EQ(spec.error().code, ErrorCode::kBadFile) << "seed " << kSeed << ", round " << round;
      continue;
    }
    ++num_read;
    const auto tokenizer = make_bpe_tokenizer(*spec);
    if (tokenizer) {
      ASSERT_FALSE((*tokenizer)->encode("Hello <|im_end|>", SpecialText::kParse).empty());
    }
  }
  EXPECT_GT(num_read, 0);
}

}  // namespace
}  // namespace paceline
