#include "tokenizer/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/byte_alphabet.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> numbers(std::span<const TokenId> ids) {
  std::vector<int> out;
  for (const TokenId id : ids) out.push_back(raw(id));
  return out;
}

class BpeTokenizerTest : public testing::Test {
 protected:
  std::vector<int> encode(std::string_view text, SpecialText special = SpecialText::kPlain,
                          std::size_t max_tokens = Tokenizer::kNoLimit) const {
    return numbers(tokenizer_->encode(text, special, max_tokens));
  }
  std::vector<int> encode_segments(const std::vector<TextSegment>& segments) const {
    return numbers(tokenizer_->encode_segments(segments));
  }

  const std::unique_ptr<Tokenizer> tokenizer_ = *make_bpe_tokenizer(tiny_vocabulary());
};

TEST_F(BpeTokenizerTest, MergesByRankWithinWords) {
  EXPECT_THAT(encode("Hello"), ElementsAre(259));
  EXPECT_THAT(encode(" Hello"), ElementsAre(' ', 259));  // `Hello` is merged before ` He`
  EXPECT_THAT(encode(" Hey"), ElementsAre(260, 'y'));
  EXPECT_THAT(encode("Helll"), ElementsAre(256, 257, 'l'));
  EXPECT_THAT(encode("你"), ElementsAre(262));
  EXPECT_THAT(encode(""), ElementsAre());
  EXPECT_THAT(encode({"a\0b", 3}), ElementsAre('a', 0, 'b'));
}

TEST_F(BpeTokenizerTest, SpecialTokensCountOnlyWhereTheyAreParsed) {
  EXPECT_THAT(encode("He<|im_end|>He", SpecialText::kParse), ElementsAre(256, 265, 256));
  EXPECT_THAT(encode("<tool_call>", SpecialText::kParse), ElementsAre(266));
  EXPECT_EQ(encode("<|im_end|>").size(), 10U);
  EXPECT_EQ(encode("<tool_call>").size(), 10U);  // with `ll` merged
  EXPECT_EQ(encode("<|im_end|", SpecialText::kParse).size(), 9U);
}

TEST_F(BpeTokenizerTest, SpecialTokensAreFoundBeforeNormalisation) {
  // The mark would join the `>` as U+226F; the special token is cut out first.
  EXPECT_THAT(encode("<|im_end|>\u0338", SpecialText::kParse), ElementsAre(265, 0xCC, 0xB8));
}

TEST_F(BpeTokenizerTest, PlainTextIsJoinedAcrossSegments) {
  EXPECT_THAT(encode_segments({{"He", SpecialText::kParse}, {"llo", SpecialText::kPlain}}),
              ElementsAre(259));
  EXPECT_THAT(encode_segments({{"e", SpecialText::kPlain}, {"\u0301", SpecialText::kParse}}),
              ElementsAre(0xC3, 0xA9));
  EXPECT_THAT(encode_segments({{"<|im_end|>He", SpecialText::kParse},
                               {"llo<|im_end|>", SpecialText::kPlain},
                               {"<|im_end|>", SpecialText::kParse}}),
              ElementsAre(265, 259, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', 265));
}

TEST_F(BpeTokenizerTest, SpecialTokenSplitOverSegmentsCountsOnlyWhenAllOfItIsParsed) {
  EXPECT_THAT(encode_segments({{"<|im_", SpecialText::kParse}, {"end|>", SpecialText::kParse}}),
              ElementsAre(265));
  EXPECT_EQ(
      encode_segments({{"<|im_", SpecialText::kParse}, {"end|>", SpecialText::kPlain}}).size(),
      10U);
}

TEST_F(BpeTokenizerTest, StopsOneIdBeyondTheLimit) {
  EXPECT_EQ(encode("x y z w", SpecialText::kPlain, 3).size(), 4U);
  EXPECT_EQ(encode("x y z w", SpecialText::kPlain, 7).size(), 7U);
  EXPECT_EQ(encode("x", SpecialText::kPlain, 0).size(), 1U);
  EXPECT_EQ(encode("<|im_end|><|im_end|><|im_end|>", SpecialText::kParse, 1).size(), 2U);
}

TEST_F(BpeTokenizerTest, OneEndlessWordStopsAtTheLimitToo) {
  const std::string word(5'000'000, 'x');

  EXPECT_EQ(encode(word, SpecialText::kPlain, 1000), std::vector<int>(1001, 'x'));
}

TEST_F(BpeTokenizerTest, LongWordThatFitsTheLimitIsEncodedWhole) {
  std::string word;
  for (int i = 0; i < 5000; ++i) word += "Hello";

  EXPECT_EQ(encode(word, SpecialText::kPlain, 5000), std::vector<int>(5000, 259));
}

TEST_F(BpeTokenizerTest, DecodesToBytes) {
  const std::vector<TokenId> ids{TokenId{259}, TokenId{265}, TokenId{261}, TokenId{266}};

  EXPECT_EQ(tokenizer_->decode(ids, true), "Hello\xE4\xBD<tool_call>");
  EXPECT_EQ(tokenizer_->decode(ids, false), "Hello<|im_end|>\xE4\xBD<tool_call>");
  EXPECT_EQ(tokenizer_->token_bytes(TokenId{' '}), " ");
}

TEST_F(BpeTokenizerTest, TellsControlAndEndTokens) {
  EXPECT_EQ(tokenizer_->vocab_size(), 267);
  EXPECT_TRUE(tokenizer_->is_control(TokenId{264}));
  EXPECT_FALSE(tokenizer_->is_control(TokenId{266}));
  EXPECT_EQ(tokenizer_->find_special("<tool_call>"), TokenId{266});
  EXPECT_EQ(tokenizer_->find_special("Hello"), std::nullopt);
  EXPECT_THAT(numbers(tokenizer_->end_ids()), ElementsAre(263, 265));
}

TEST_F(BpeTokenizerTest, UnusedEntriesAtTheEndAreNotDefined) {
  TokenizerSpec spec = tiny_vocabulary();
  for (int i = 0; i < 5; ++i) {
    spec.tokens.push_back("[PAD" + std::to_string(i) + "]");
    spec.types.push_back(TokenType::kUnused);
  }

  const auto tokenizer = make_bpe_tokenizer(spec);

  EXPECT_EQ((*tokenizer)->vocab_size(), 267);
  EXPECT_FALSE((*tokenizer)->is_defined(TokenId{267}));
}

TEST_F(BpeTokenizerTest, TokenThatNoMergeMakesIsNeverUsed) {
  TokenizerSpec spec = tiny_vocabulary();
  spec.tokens.insert(spec.tokens.end(), "xy");
  spec.types.push_back(TokenType::kNormal);

  EXPECT_THAT(numbers((*make_bpe_tokenizer(spec))->encode("xy", SpecialText::kPlain)),
              ElementsAre('x', 'y'));
}

TEST_F(BpeTokenizerTest, EmptyPatternNameAndMissingTypesAreTaken) {
  TokenizerSpec spec = tiny_vocabulary();
  spec.pre_tokenizer.clear();
  spec.tokens.resize(263);
  spec.types.clear();
  spec.end_ids.clear();

  EXPECT_THAT(numbers((*make_bpe_tokenizer(spec))->encode(" Hey", SpecialText::kPlain)),
              ElementsAre(260, 'y'));
}

TEST_F(BpeTokenizerTest, BrokenVocabulariesAreRefusedByName) {
  struct Case {
    std::function<void(TokenizerSpec&)> damage;
    std::string message;
  };
  const Case cases[] = {
      {[](TokenizerSpec& s) { s.tokens.clear(); }, "no tokens"},
      {[](TokenizerSpec& s) { s.types.pop_back(); }, "267 tokens but 266 token types"},
      {[](TokenizerSpec& s) { s.types[5] = TokenType::kByte; }, "token 5"},
      {[](TokenizerSpec& s) { s.types[5] = TokenType{99}; }, "type 99"},
      {[](TokenizerSpec& s) { s.types[260] = TokenType::kUnused; }, "token id 260 is unused"},
      {[](TokenizerSpec& s) { s.types.assign(267, TokenType::kUnused); }, "no used tokens"},
      {[](TokenizerSpec& s) { s.tokens[7].clear(); }, "token 7 is empty"},
      {[](TokenizerSpec& s) { s.tokens[259] = s.tokens[256]; }, "token 259 `He` repeats token 256"},
      {[](TokenizerSpec& s) { s.tokens[266] = "<|im_end|>"; }, "repeats token 265"},
      {[](TokenizerSpec& s) { s.tokens[259] = "Hel lo"; }, "byte-level alphabet"},
      {[](TokenizerSpec& s) { s.merges.clear(); }, "no merges"},
      {[](TokenizerSpec& s) { s.tokens['a'] = "xyz"; }, "no token for byte 97"},
      {[](TokenizerSpec& s) {
         s.merges[1] = {"l", "qq"};
       },
       "merge 1 (`l` `qq`)"},
      {[](TokenizerSpec& s) {
         s.merges[1] = {"l", "x"};
       },
       "needs the token `lx`"},
      {[](TokenizerSpec& s) { s.merges.emplace_back("H", "e"); }, "merge 7 (`H` `e`)"},
      {[](TokenizerSpec& s) {
         s.merges[0] = {"", "H"};
       },
       "merge 0"},
      {[](TokenizerSpec& s) { s.merges.emplace_back("<|im_", "end|>"); }, "needs the token"},
      {[](TokenizerSpec& s) { s.end_ids = {200000}; }, "end token 200000"},
      {[](TokenizerSpec& s) { s.end_ids = {-1}; }, "end token -1"},
      {[](TokenizerSpec& s) { s.pre_tokenizer = "llama-bpe"; }, "llama-bpe"},
  };
  for (const Case& c : cases) {
    TokenizerSpec spec = tiny_vocabulary();
    c.damage(spec);

    const auto result = make_bpe_tokenizer(spec);

    ASSERT_FALSE(result.has_value()) << c.message;
    EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
    EXPECT_THAT(result.error().message, HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace paceline
