#include "sampling/logits_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr float kMasked = -std::numeric_limits<float>::infinity();
const std::vector<TokenId> kEnds{TokenId{5}};

std::vector<float> processed(const LogitsProcessor& processor, std::vector<float> row) {
  processor.apply(row);
  return row;
}

TEST(LogitsProcessorTest, DefaultsChangeNothing) {
  const LogitsProcessor processor({}, std::vector{TokenId{1}}, kEnds);

  EXPECT_FALSE(processor.is_active());
  EXPECT_THAT(processed(processor, {1, 2, 3}), ElementsAre(1, 2, 3));
}

TEST(LogitsProcessorTest, BiasIsAdded) {
  const LogitsProcessor processor({.logit_bias = {{TokenId{1}, 2.5F}, {TokenId{2}, -100.0F}}}, {},
                                  kEnds);

  EXPECT_TRUE(processor.is_active());
  EXPECT_THAT(processed(processor, {1, 2, 3}), ElementsAre(1, 4.5F, -97));
}

TEST(LogitsProcessorTest, PresenceAndFrequencyCountGeneratedTokensOnly) {
  LogitsProcessor processor({.presence_penalty = 0.5, .frequency_penalty = 0.25},
                            std::vector{TokenId{0}, TokenId{0}}, kEnds);
  EXPECT_FALSE(processor.is_active());

  processor.accept(TokenId{2});
  processor.accept(TokenId{2});
  processor.accept(TokenId{1});

  EXPECT_THAT(processed(processor, {1, 2, 3}), ElementsAre(1, 1.25F, 2));
}

TEST(LogitsProcessorTest, RepetitionPenaltyCoversPromptAndOutputOnce) {
  LogitsProcessor processor({.repetition_penalty = 2},
                            std::vector{TokenId{0}, TokenId{1}, TokenId{0}}, kEnds);

  processor.accept(TokenId{0});
  processor.accept(TokenId{3});

  EXPECT_THAT(processed(processor, {4, -4, 4, 4}), ElementsAre(2, -8, 4, 2));
}

TEST(LogitsProcessorTest, EndTokensAreMaskedBeforeMinTokens) {
  LogitsProcessor processor(
      {.logit_bias = {{TokenId{5}, 100.0F}}, .stop_token_ids = {TokenId{3}}, .min_tokens = 2}, {},
      kEnds);

  EXPECT_THAT(processed(processor, {0, 0, 0, 0, 0, 0}), ElementsAre(0, 0, 0, kMasked, 0, kMasked));
  processor.accept(TokenId{0});
  EXPECT_THAT(processed(processor, {0, 0, 0, 0, 0, 0}), ElementsAre(0, 0, 0, kMasked, 0, kMasked));
  processor.accept(TokenId{0});
  EXPECT_THAT(processed(processor, {0, 0, 0, 0, 0, 0}), ElementsAre(0, 0, 0, 0, 0, 100));
}

}  // namespace
}  // namespace paceline
