#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

using Failure = ScriptedModelRunner::Failure;

class EngineStepFailureTest : public ::testing::TestWithParam<Failure> {};

TEST_P(EngineStepFailureTest, FailedStepFailsItsRequestsOnly) {
  EngineHarness harness({.scheduler = {.max_running = 2}});
  harness.runner().hold();
  const auto first = harness.submit(harness.request("first", 5));
  const auto second = harness.submit(harness.request("second", 5));
  ASSERT_TRUE(harness.runner().wait_until_held());
  harness.runner().step();
  ASSERT_TRUE(harness.runner().wait_until_held());  // both are in this step
  const auto waiting = harness.submit(harness.request("waiting", 5));
  harness.runner().fail_next(GetParam());
  harness.runner().release();

  const Outcome failed = first->finish();
  EXPECT_TRUE(failed.error.has_value());
  EXPECT_GE(failed.usage.completion_tokens, 1) << "what came before the failure counts";
  EXPECT_TRUE(second->finish().error.has_value());
  EXPECT_EQ(waiting->finish().usage.completion_tokens, 5);
  const auto snapshot = harness.snapshot_at_rest();
  EXPECT_TRUE(snapshot->healthy);
  EXPECT_EQ(snapshot->kv_blocks_active, 0);
}

TEST_P(EngineStepFailureTest, ErrorIsAnEngineError) {
  EngineHarness harness;
  harness.runner().fail_next(GetParam());

  const Outcome outcome = harness.run(harness.request("Hi", 5));

  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kEngineError);
  EXPECT_FALSE(outcome.error->message.empty());
  EXPECT_TRUE(outcome.started);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, EngineStepFailureTest,
                         ::testing::Values(Failure::kError, Failure::kException,
                                           Failure::kWrongRowCount));

TEST(EngineFailureTest, NeighboursOfAFailedStepThatWereNotInItGoOn) {
  EngineHarness harness({.scheduler = {.max_running = 1}});
  const auto failing = harness.submit_and_hold(harness.request("failing", 5), 1);
  const auto waiting = harness.submit(harness.request("waiting", 5));
  harness.runner().fail_next(Failure::kError);
  harness.runner().release();

  EXPECT_TRUE(failing->finish().error.has_value());
  EXPECT_FALSE(waiting->finish().error.has_value());
}

TEST(EngineFailureTest, RowWithoutFiniteLogitsFailsItsRequestOnly) {
  EngineHarness harness;
  harness.runner().set_logits([](std::span<const TokenId> tokens, std::span<float> row) {
    const bool is_bad = tokens.front() == TokenId{'B'} && tokens.size() > 8;
    std::fill(row.begin(), row.end(), is_bad ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
    if (!is_bad) row['g'] = 1;
  });
  GenerationRequest bad_request = harness.request("Bad", 100);
  bad_request.sampling.n = 2;

  const auto good = harness.submit(harness.request("good", 100));
  const auto bad = harness.submit(std::move(bad_request));

  const Outcome failed = bad->finish();
  ASSERT_TRUE(failed.error.has_value());
  EXPECT_EQ(failed.error->code, ErrorCode::kEngineError);
  EXPECT_EQ(good->finish().choices.at(0).text, std::string(100, 'g'));
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
}

}  // namespace
}  // namespace paceline
