#include "sampling/sampling_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace paceline {
namespace {

constexpr int kVocabSize = 100;

struct Case {
  const char* param;
  std::function<void(SamplingParams&)> change;
};

TEST(SamplingParamsTest, DefaultsAreValid) {
  EXPECT_TRUE(validate(SamplingParams{}, kVocabSize).has_value());
}

TEST(SamplingParamsTest, ValuesOnTheBoundsAreValid) {
  SamplingParams low{.temperature = 0,
                     .top_p = 0,
                     .top_k = -1,
                     .min_p = 0,
                     .presence_penalty = -2,
                     .frequency_penalty = -2,
                     .repetition_penalty = 1e-6,
                     .logit_bias = {{TokenId{0}, -100.0F}}};
  SamplingParams high{.temperature = 2,
                      .top_p = 1,
                      .top_k = 1 << 30,
                      .min_p = 1,
                      .presence_penalty = 2,
                      .frequency_penalty = 2,
                      .repetition_penalty = 10,
                      .logit_bias = {{TokenId{99}, 100.0F}},
                      .n = 128,
                      .stop = {std::string(16384, 'x'), "a", "b", "c"},
                      .stop_token_ids = std::vector<TokenId>(64, TokenId{99}),
                      .logprobs = true,
                      .top_logprobs = 20};

  EXPECT_TRUE(validate(low, kVocabSize).has_value());
  EXPECT_TRUE(validate(high, kVocabSize).has_value());
}

TEST(SamplingParamsTest, ValuesOutsideTheirRangeNameTheirField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases{
      {"temperature", [](auto& p) { p.temperature = -0.1; }},
      {"temperature", [](auto& p) { p.temperature = 2.1; }},
      {"temperature", [nan](auto& p) { p.temperature = nan; }},
      {"top_p", [](auto& p) { p.top_p = -0.1; }},
      {"top_p", [](auto& p) { p.top_p = 1.1; }},
      {"top_k", [](auto& p) { p.top_k = -2; }},
      {"min_p", [](auto& p) { p.min_p = 2; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = 2.1; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = -2.1; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = 0; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = 10.5; }},
      {"repetition_penalty", [nan](auto& p) { p.repetition_penalty = nan; }},
      {"n", [](auto& p) { p.n = 0; }},
      {"n", [](auto& p) { p.n = 129; }},
      {"min_tokens", [](auto& p) { p.min_tokens = -1; }},
      {"top_logprobs", [](auto& p) { p.logprobs = true, p.top_logprobs = 21; }},
      {"top_logprobs", [](auto& p) { p.top_logprobs = 3; }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{TokenId{100}, 1.0F}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{TokenId{-1}, 1.0F}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{TokenId{1}, 100.5F}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{TokenId{1}, std::nanf("")}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{TokenId{1}, 1.0F}, {TokenId{1}, 2.0F}};
       }},
      {"logit_bias", [](auto& p) { p.logit_bias.resize(1025); }},
      {"stop", [](auto& p) { p.stop = {""}; }},
      {"stop",
       [](auto& p) {
         p.stop = {"a", "b", "c", "d", "e"};
       }},
      {"stop", [](auto& p) { p.stop = {std::string(16385, 'x')}; }},
      {"stop_token_ids", [](auto& p) { p.stop_token_ids = {TokenId{100}}; }},
      {"stop_token_ids", [](auto& p) { p.stop_token_ids.resize(65); }},
  };

  for (const Case& c : cases) {
    SamplingParams params;
    c.change(params);
    const auto result = validate(params, kVocabSize);
    ASSERT_FALSE(result.has_value()) << c.param;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidValue);
    EXPECT_EQ(result.error().param, c.param);
  }
}

TEST(SamplingParamsTest, MessageHoldsRangeAndValue) {
  const auto result = validate({.temperature = 2.1}, kVocabSize);

  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "temperature must be between 0 and 2, got 2.1");
}

}  // namespace
}  // namespace paceline
