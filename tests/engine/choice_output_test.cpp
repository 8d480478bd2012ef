#include "engine/choice_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr TokenId kEnd{265};

class ChoiceOutputTest : public ::testing::Test {
 protected:
  struct Result {
    std::vector<std::string> texts;  // of each delta
    std::vector<std::size_t> num_tokens;
    std::optional<FinishReason> reason;
    int counted = 0;
  };

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const {
    return tokenizer_->encode(text, SpecialText::kPlain);
  }

  // Feeds tokens until the choice ends.
  [[nodiscard]] Result feed(const SamplingParams& params, std::span<const TokenId> tokens,
                            int max_tokens = 1000) const {
    ChoiceOutput output(params, *tokenizer_, {}, RandomStream(0, 0), max_tokens);
    Result result;
    for (const TokenId token : tokens) {
      std::optional<TokenLogprobText> logprobs;
      if (params.logprobs) logprobs = TokenLogprobText{{std::string("x"), -1}};
      result.reason = output.accept(token, std::move(logprobs));
      if (const auto delta = output.take_delta()) {
        result.texts.push_back(delta->text);
        result.num_tokens.push_back(delta->token_ids.size());
        EXPECT_EQ(delta->logprobs.size(), params.logprobs ? delta->token_ids.size() : 0);
      }
      if (result.reason) break;
    }
    result.counted = output.num_tokens();
    return result;
  }

  const std::unique_ptr<Tokenizer> tokenizer_ = std::move(*make_bpe_tokenizer(tiny_vocabulary()));
};

TEST_F(ChoiceOutputTest, CharactersSplitOverTokensArriveWhole) {
  const std::string text = "\U0001FAE0\U0001F979\U00013000①٣龘";
  std::vector<TokenId> bytes;
  for (const char c : text) bytes.push_back(static_cast<TokenId>(static_cast<unsigned char>(c)));
  bytes.push_back(kEnd);

  const Result result = feed({.logprobs = true}, bytes);

  EXPECT_THAT(result.texts, ElementsAre("\U0001FAE0", "\U0001F979", "\U00013000", "①", "٣", "龘"));
  EXPECT_THAT(result.num_tokens, ElementsAre(4, 4, 4, 3, 2, 3));
  EXPECT_EQ(result.counted, 20);
}

TEST_F(ChoiceOutputTest, UnfinishedCharacterAtTheEndBecomesAReplacementMark) {
  const std::vector<TokenId> tokens{TokenId{'a'}, TokenId{0xE4}, kEnd};

  const Result result = feed({}, tokens);

  EXPECT_THAT(result.texts, ElementsAre("a", "\uFFFD"));
  EXPECT_EQ(result.reason, FinishReason::kStop);
}

TEST_F(ChoiceOutputTest, StopTextOverTokensIsNotShown) {
  const Result result = feed({.stop = {"three"}}, encode("one, two, three, four"));

  std::string joined;
  for (const auto& text : result.texts) joined += text;
  EXPECT_EQ(joined, "one, two, ");
  EXPECT_EQ(result.reason, FinishReason::kStop);
  EXPECT_EQ(result.counted, 15) << "tokens up to the end of the stop text";
}

TEST_F(ChoiceOutputTest, StopTextInsideATokenCutsIt) {
  const std::vector<TokenId> tokens{TokenId{259}, TokenId{259}};  // Hello

  const Result result = feed({.stop = {"lo"}}, tokens);

  EXPECT_THAT(result.texts, ElementsAre("Hel"));
  EXPECT_EQ(result.counted, 1);
}

TEST_F(ChoiceOutputTest, StopTextAcrossTheSameTokenTwice) {
  const std::vector<TokenId> tokens{TokenId{259}, TokenId{259}};  // HelloHello

  const Result result = feed({.stop = {"oHe"}, .logprobs = true}, tokens);

  EXPECT_THAT(result.texts, ElementsAre("Hell", ""));
  EXPECT_THAT(result.num_tokens, ElementsAre(1, 1)) << "tokens of the stop text are listed";
  EXPECT_EQ(result.reason, FinishReason::kStop);
  EXPECT_EQ(result.counted, 2);
}

TEST_F(ChoiceOutputTest, HeldBackTextBringsItsTokensWhenItIsShown) {
  const Result result = feed({.stop = {"abx"}}, encode("-ab-"));

  EXPECT_THAT(result.texts, ElementsAre("-", "ab-"));
  EXPECT_THAT(result.num_tokens, ElementsAre(1, 3));
}

TEST_F(ChoiceOutputTest, PartOfHeldBackTextBringsOnlyItsTokens) {
  const Result result = feed({.stop = {"aab"}}, encode("aaa"));

  EXPECT_THAT(result.texts, ElementsAre("a"));
  EXPECT_THAT(result.num_tokens, ElementsAre(1)) << "two more may be the stop text";
}

TEST_F(ChoiceOutputTest, HeldBackTextIsShownWhenTheChoiceEnds) {
  auto tokens = encode("ab");
  tokens.push_back(kEnd);

  const Result result = feed({.stop = {"abc"}}, tokens);

  EXPECT_THAT(result.texts, ElementsAre("ab"));
  EXPECT_EQ(result.reason, FinishReason::kStop);
}

TEST_F(ChoiceOutputTest, CapEndsWithLengthAndShowsEverything) {
  const Result result = feed({.stop = {"abc"}}, encode("abab"), 2);

  EXPECT_THAT(result.texts, ElementsAre("ab"));
  EXPECT_EQ(result.reason, FinishReason::kLength);
  EXPECT_EQ(result.counted, 2);
}

TEST_F(ChoiceOutputTest, StopTextOnTheLastTokenIsAStop) {
  const Result result = feed({.stop = {"b"}}, encode("ab"), 2);

  EXPECT_EQ(result.reason, FinishReason::kStop);
}

TEST_F(ChoiceOutputTest, EndTokenAndStopIdAreNotCounted) {
  const std::vector<TokenId> end{TokenId{'a'}, kEnd};
  const std::vector<TokenId> stop_id{TokenId{'a'}, TokenId{'b'}};

  EXPECT_EQ(feed({}, end).counted, 1);
  EXPECT_EQ(feed({.stop_token_ids = {TokenId{'b'}}}, stop_id).counted, 1);
  EXPECT_EQ(feed({.stop_token_ids = {TokenId{'b'}}}, stop_id).reason, FinishReason::kStop);
}

TEST_F(ChoiceOutputTest, IgnoredEndTokensAreCountedAndGiveNoText) {
  const std::vector<TokenId> tokens{TokenId{'a'}, kEnd, TokenId{'b'}};

  const Result result = feed({.ignore_eos = true}, tokens, 3);

  EXPECT_THAT(result.texts, ElementsAre("a", "b"));
  EXPECT_THAT(result.num_tokens, ElementsAre(1, 2));
  EXPECT_EQ(result.reason, FinishReason::kLength);
}

TEST_F(ChoiceOutputTest, StopIdEndsEvenWhenEndTokensAreIgnored) {
  const std::vector<TokenId> tokens{kEnd};

  EXPECT_EQ(feed({.stop_token_ids = {kEnd}, .ignore_eos = true}, tokens).reason,
            FinishReason::kStop);
}

TEST_F(ChoiceOutputTest, StopTextIsNotLookedForBeforeMinTokens) {
  const Result result = feed({.stop = {"a"}, .min_tokens = 3}, encode("aaab"));

  EXPECT_THAT(result.texts, ElementsAre("a", "a", ""));
  EXPECT_EQ(result.counted, 3);
}

}  // namespace
}  // namespace paceline
