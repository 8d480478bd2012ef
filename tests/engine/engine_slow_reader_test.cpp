#include <gtest/gtest.h>

#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

TEST(EngineSlowReaderTest, UnreadOutputIsBoundedAndNothingIsLost) {
  constexpr std::size_t kBudget = 20'000;
  EngineHarness harness;
  harness.script("slow", std::string(1000, 's'));
  const auto slow = harness.submit(harness.request("slow", 1000), kBudget);

  // The reader does not read: the engine comes to rest with the request paused.
  const Outcome fast = harness.run(harness.request("fast", 200));
  while (harness.engine().snapshot()->has_work) std::this_thread::yield();

  EXPECT_EQ(fast.usage.completion_tokens, 200);
  EXPECT_GT(slow->stream().budget().used_bytes(), kBudget);
  EXPECT_LT(slow->stream().budget().used_bytes(), 2 * kBudget);
  EXPECT_EQ(harness.engine().snapshot()->num_running, 1) << "a paused sequence stays in the batch";

  const Outcome outcome = slow->finish();
  EXPECT_EQ(outcome.choices.at(0).text, std::string(1000, 's'));
  EXPECT_EQ(outcome.usage.completion_tokens, 1000);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
}

TEST(EngineSlowReaderTest, PausedRequestIsCancelled) {
  EngineHarness harness;
  const auto slow = harness.submit(harness.request("slow", 1000), 1000);
  slow->read_deltas(1);
  while (harness.engine().snapshot()->num_running == 0 || harness.engine().snapshot()->has_work) {
    std::this_thread::yield();
  }

  harness.engine().cancel(slow->id(), CancelCause::kSlowReader);

  const Outcome outcome = slow->finish();
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code, ErrorCode::kRequestCancelled);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
  EXPECT_EQ(harness.metric(R"(paceline_cancellations_total{cause="slow_reader",phase="paused"})"),
            1);
}

TEST(EngineSlowReaderTest, ClosedStreamCostsNothing) {
  EngineHarness harness;
  const auto client = harness.submit(harness.request("x", 500), 1000);
  client->read_deltas(1);

  client->stream().close();
  harness.engine().cancel(client->id(), CancelCause::kDisconnect);

  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
  EXPECT_EQ(client->stream().budget().used_bytes(), 0U);
}

}  // namespace
}  // namespace paceline
