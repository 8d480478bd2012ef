// What the sampling fields do to whole requests (CASES.md A14, B01, C01, C04 to C15).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

// Logits of a small random model: noise by token and context, spread like a Gaussian's.
void noisy_logits(std::span<const TokenId> tokens, std::span<float> row) {
  std::uint64_t state = 0x9E3779B97F4A7C15U;
  for (const TokenId token : tokens) {
    state = (state ^ static_cast<std::uint64_t>(raw(token))) * 0xD1342543DE82EF95U + 1;
  }
  for (float& value : row) {
    state = state * 0xD1342543DE82EF95U + 1;
    value = static_cast<float>(state >> 40) * 0x1.0p-24F * 4;
  }
}

class EngineSamplingTest : public ::testing::Test {
 protected:
  EngineSamplingTest() { harness_.runner().set_logits(noisy_logits); }

  [[nodiscard]] Outcome run(const SamplingParams& params, int max_tokens = 30,
                            std::string_view prompt = "prompt") {
    GenerationRequest request = harness_.request(prompt, max_tokens);
    request.sampling = params;
    return harness_.run(std::move(request));
  }
  [[nodiscard]] std::vector<TokenId> ids(const SamplingParams& params, int max_tokens = 30) {
    return run(params, max_tokens).choices.at(0).token_ids;
  }

  EngineHarness harness_;
};

TEST_F(EngineSamplingTest, TemperatureZeroIsArgmaxWhateverElseIsAsked) {
  const std::vector<TokenId> greedy = ids({.temperature = 0});

  EXPECT_EQ(ids({.temperature = 0, .top_p = 0, .top_k = 50, .min_p = 1, .seed = 1}), greedy);
  EXPECT_EQ(ids({.temperature = 0, .top_p = 0.9, .top_k = 1, .seed = 2}), greedy);
  EXPECT_EQ(ids({.temperature = 1e-30, .seed = 3}), greedy);
  EXPECT_EQ(ids({.temperature = 1, .top_k = 1, .seed = 4}), greedy);
}

TEST_F(EngineSamplingTest, PaddingRowsAreNeverSeen) {
  const Outcome outcome =
      run({.temperature = 2, .seed = 1, .logprobs = true, .top_logprobs = 20}, 200);

  for (const TokenLogprobText& token : outcome.choices.at(0).logprobs) {
    EXPECT_FALSE(token.chosen.bytes.empty());
    EXPECT_LT(token.chosen.logprob, -1.0F);
    for (const LogprobText& top : token.top) EXPECT_FALSE(top.bytes.empty());
  }
}

TEST_F(EngineSamplingTest, SeedGivesTheSameTextWhoeverSharesTheBatch) {
  const SamplingParams seeded{.temperature = 1, .seed = 42, .ignore_eos = true};
  const std::vector<TokenId> alone = ids(seeded, 64);
  ASSERT_THAT(alone, SizeIs(64));
  EXPECT_EQ(ids(seeded, 64), alone);

  std::vector<std::unique_ptr<TestClient>> others;
  for (int i = 0; i < 7; ++i) {
    GenerationRequest other = harness_.request("other " + std::to_string(i), 100 + 10 * i);
    other.sampling.temperature = 1;
    others.push_back(harness_.submit(std::move(other)));
  }
  others[0]->read_deltas(5);

  EXPECT_EQ(ids(seeded, 64), alone);
  for (auto& other : others) static_cast<void>(other->finish());
}

TEST_F(EngineSamplingTest, RequestsWithoutASeedDiffer) {
  EXPECT_NE(ids({.temperature = 2, .ignore_eos = true}),
            ids({.temperature = 2, .ignore_eos = true}));
}

TEST_F(EngineSamplingTest, ChoicesDifferAndRepeatUnderASeed) {
  const SamplingParams params{.temperature = 1.2, .seed = 7, .n = 3};

  const Outcome first = run(params);
  const Outcome second = run(params);

  ASSERT_THAT(first.choices, SizeIs(3));
  std::set<std::string> texts;
  for (int i = 0; i < 3; ++i) {
    texts.insert(first.choices.at(i).text);
    EXPECT_EQ(first.choices.at(i).token_ids, second.choices.at(i).token_ids);
    EXPECT_TRUE(first.choices.at(i).reason.has_value());
  }
  EXPECT_GT(texts.size(), 1U);
  EXPECT_EQ(first.usage.prompt_tokens, 6);
}

TEST_F(EngineSamplingTest, BiasForcesAndBansTokens) {
  const TokenId hello{259};

  const Outcome forced = run({.temperature = 0, .logit_bias = {{hello, 100.0F}}}, 3);
  const Outcome banned =
      run({.temperature = 2, .logit_bias = {{hello, -100.0F}}, .seed = 1, .ignore_eos = true}, 200);

  EXPECT_EQ(forced.choices.at(0).text, "HelloHelloHello");
  EXPECT_THAT(banned.choices.at(0).token_ids, Each(::testing::Ne(hello)));
}

TEST_F(EngineSamplingTest, LogprobsHaveOneItemPerCountedToken) {
  const TokenId hello{259};
  const Outcome outcome = run(
      {.temperature = 0, .logit_bias = {{hello, 100.0F}}, .logprobs = true, .top_logprobs = 3}, 3);

  const auto& items = outcome.choices.at(0).logprobs;
  ASSERT_THAT(items, SizeIs(3));
  for (const TokenLogprobText& item : items) {
    EXPECT_EQ(item.chosen.bytes, "Hello");
    EXPECT_LE(item.chosen.logprob, 0.0F);
    ASSERT_THAT(item.top, SizeIs(3));
    EXPECT_GE(item.top[0].logprob, item.top[1].logprob);
    EXPECT_GE(item.top[1].logprob, item.top[2].logprob);
  }
}

TEST_F(EngineSamplingTest, EndTokenHasNoLogprobs) {
  const Outcome outcome =
      run({.temperature = 0, .logit_bias = {{kEndToken, 100.0F}}, .logprobs = true});

  EXPECT_THAT(outcome.choices.at(0).logprobs, SizeIs(0));
  EXPECT_EQ(outcome.choices.at(0).text, "");
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(outcome.usage.completion_tokens, 0);
}

TEST_F(EngineSamplingTest, LogprobsComeFromTheRawDistribution) {
  const TokenId hello{259};
  const auto first_top = [&](SamplingParams params) {
    params.logprobs = true;
    params.top_logprobs = 5;
    params.seed = 1;
    return run(params, 1).choices.at(0).logprobs.at(0);
  };

  const TokenLogprobText plain = first_top({.temperature = 0});
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 1}, SamplingParams{.temperature = 2},
        SamplingParams{.top_p = 0.1}, SamplingParams{.logit_bias = {{hello, 100.0F}}}}) {
    const TokenLogprobText other = first_top(params);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(other.top[i].bytes, plain.top[i].bytes);
      EXPECT_EQ(other.top[i].logprob, plain.top[i].logprob);
    }
  }
  const TokenLogprobText biased = first_top({.logit_bias = {{hello, 100.0F}}});
  EXPECT_EQ(biased.chosen.bytes, "Hello");
  EXPECT_LT(biased.chosen.logprob, -3.0F) << "its raw value, not that of the biased row";
}

TEST_F(EngineSamplingTest, PenaltiesCountGeneratedTokensOnly) {
  // All logits close together, as a small random model's; bias decides by steps of 1.
  harness_.runner().set_logits([](auto, std::span<float> row) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 7) * 0.03F;
  });
  const auto text = [&](double presence, double frequency) {
    return run({.temperature = 0,
                .presence_penalty = presence,
                .frequency_penalty = frequency,
                .logit_bias = {{TokenId{'0'}, 60.0F}, {TokenId{'1'}, 59.0F}}},
               6, "0 0 0 0 0 1 1")
        .choices.at(0)
        .text;
  };

  EXPECT_EQ(text(0, 0), "000000");
  EXPECT_EQ(text(2, 0), "010000");
  EXPECT_EQ(text(0, 2), "010101");
  EXPECT_EQ(text(2, 2), "010101");
}

TEST_F(EngineSamplingTest, EndTokensStillEndWithoutStopStrings) {
  for (const TokenId end : {kEndToken, kOtherEndToken}) {
    const Outcome outcome = run({.temperature = 0, .logit_bias = {{end, 100.0F}}, .stop = {}});
    EXPECT_EQ(outcome.choices.at(0).text, "");
    EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kStop);
  }
}

TEST_F(EngineSamplingTest, MinTokensHoldOffTheEnd) {
  const Outcome outcome =
      run({.temperature = 0, .logit_bias = {{kEndToken, 100.0F}}, .min_tokens = 4});

  EXPECT_EQ(outcome.usage.completion_tokens, 4);
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kStop);
}

TEST_F(EngineSamplingTest, LongStopStringsAreServed) {
  const Outcome outcome = run({.temperature = 0, .stop = {std::string(10000, 'x')}}, 5);

  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kLength);
}

TEST_F(EngineSamplingTest, ValuesOutOfRangeAreRefusedAtOnce) {
  GenerationRequest request = harness_.request("x", 1);
  request.sampling.temperature = 3;

  const auto client = harness_.submit(std::move(request));

  ASSERT_TRUE(client->refusal().has_value());
  EXPECT_EQ(client->refusal()->param, "temperature");
}

TEST_F(EngineSamplingTest, CharactersSplitOverTokensArriveWhole) {
  const std::string text = "\"\U0001FAE0\U0001F979\U00013000①٣龘你\"";
  harness_.runner().set_logits(nullptr);
  harness_.script("p", text);

  const Outcome outcome = run({.temperature = 0}, 100, "p");

  EXPECT_EQ(outcome.choices.at(0).text, text);
  for (const std::string& delta : outcome.choices.at(0).deltas) {
    EXPECT_EQ(delta.find("\uFFFD"), std::string::npos);
  }
}

TEST_F(EngineSamplingTest, NothingAfterTheStopLeaks) {
  harness_.runner().set_logits(nullptr);
  harness_.script("p", "one, two, three, four, five");

  const Outcome outcome = run({.temperature = 0, .stop = {"three"}}, 100, "p");

  EXPECT_EQ(outcome.choices.at(0).text, "one, two, ");
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(outcome.usage.completion_tokens, 15);
  EXPECT_THAT(outcome.choices.at(0).token_ids, SizeIs(15));
}

}  // namespace
}  // namespace paceline
