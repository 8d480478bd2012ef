#include <gtest/gtest.h>

#include <chrono>

#include "tests/engine/engine_harness.h"
#include "tests/support/manual_clock.h"

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

ErrorCode code_of(const Outcome& outcome) {
  return outcome.error ? outcome.error->code : ErrorCode::kInternalError;
}

TEST(EngineCancelTest, WaitingRequestIsCancelled) {
  EngineHarness harness({.scheduler = {.max_running = 1}});
  const auto running = harness.submit_and_hold(harness.request("running", 3), 1);
  const auto waiting = harness.submit(harness.request("waiting", 3));

  harness.engine().cancel(waiting->id(), CancelCause::kApi);
  harness.runner().release();

  const Outcome outcome = waiting->finish();
  EXPECT_EQ(code_of(outcome), ErrorCode::kRequestCancelled);
  EXPECT_FALSE(outcome.started);
  EXPECT_EQ(outcome.usage.prompt_tokens, 0);
  EXPECT_FALSE(running->finish().error.has_value());
  static_cast<void>(harness.snapshot_at_rest());
  EXPECT_EQ(harness.metric(R"(paceline_cancellations_total{cause="api",phase="queued"})"), 1);
}

TEST(EngineCancelTest, PrefillIsCancelled) {
  EngineHarness harness({.scheduler = {.max_chunk_tokens = 16}});
  const auto client = harness.submit_and_hold(harness.request(std::string(400, 'x'), 3), 2);

  harness.engine().cancel(client->id(), CancelCause::kDisconnect);
  harness.runner().release();

  const Outcome outcome = client->finish();
  EXPECT_EQ(code_of(outcome), ErrorCode::kRequestCancelled);
  EXPECT_TRUE(outcome.started);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
  EXPECT_EQ(harness.metric(R"(paceline_cancellations_total{cause="disconnect",phase="prefill"})"),
            1);
}

TEST(EngineCancelTest, DecodeIsCancelled) {
  EngineHarness harness;
  const auto client = harness.submit_and_hold(harness.request("x", 100), 4);

  harness.engine().cancel(client->id(), CancelCause::kAdmin);
  harness.runner().release();

  const Outcome outcome = client->finish();
  EXPECT_EQ(code_of(outcome), ErrorCode::kRequestCancelled);
  EXPECT_EQ(outcome.usage.completion_tokens, 4) << "the held step ends first";
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
  EXPECT_EQ(harness.metric(R"(paceline_cancellations_total{cause="admin",phase="decode"})"), 1);
}

TEST(EngineCancelTest, AllChoicesEndTogether) {
  EngineHarness harness;
  GenerationRequest request = harness.request(std::string(40, 'x'), 100);
  request.prompts.push_back(harness.encode("y"));
  request.sampling.n = 4;
  const auto client = harness.submit_and_hold(std::move(request), 5);

  harness.engine().cancel(client->id(), CancelCause::kApi);
  harness.runner().release();

  EXPECT_EQ(code_of(client->finish()), ErrorCode::kRequestCancelled);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
}

TEST(EngineCancelTest, FinishedAndUnknownIdsHaveNoEffect) {
  EngineHarness harness;
  const auto client = harness.submit(harness.request("x", 2));
  EXPECT_FALSE(client->finish().error.has_value());

  harness.engine().cancel(client->id(), CancelCause::kApi);
  harness.engine().cancel(RequestId{4711}, CancelCause::kApi);

  EXPECT_FALSE(harness.run(harness.request("x", 2)).error.has_value());
}

TEST(EngineCancelTest, DeadlineEndsARunningRequest) {
  ManualClock clock;
  EngineHarness harness({.clock = &clock});
  GenerationRequest request = harness.request("x", 100);
  request.deadline = clock.now() + seconds(5);
  const auto client = harness.submit_and_hold(std::move(request), 3);

  clock.advance(seconds(5));
  harness.runner().release();

  EXPECT_EQ(code_of(client->finish()), ErrorCode::kDeadlineExceeded);
  static_cast<void>(harness.snapshot_at_rest());
  EXPECT_EQ(harness.metric(R"(paceline_cancellations_total{cause="deadline",phase="decode"})"), 1);
}

TEST(EngineCancelTest, IdleEngineWakesForADeadline) {
  // Its budget of one byte pauses the request for good, so nothing else wakes the engine.
  EngineHarness harness;
  GenerationRequest request = harness.request("x", 4000);
  request.deadline = harness.now() + milliseconds(200);

  const auto client = harness.submit(std::move(request), 1);

  EXPECT_EQ(code_of(client->finish()), ErrorCode::kDeadlineExceeded);
}

TEST(EngineCancelTest, QueueDeadlineEndsWhatStillWaits) {
  ManualClock clock;
  EngineHarness harness({.scheduler = {.max_running = 1}, .clock = &clock});
  GenerationRequest first = harness.request("first", 20);
  first.queue_deadline = clock.now() + seconds(30);
  GenerationRequest second = harness.request("second", 20);
  second.queue_deadline = clock.now() + seconds(30);
  const auto running = harness.submit_and_hold(std::move(first), 1);
  const auto waiting = harness.submit(std::move(second));

  clock.advance(seconds(31));
  harness.runner().release();

  EXPECT_EQ(code_of(waiting->finish()), ErrorCode::kQueueTimeout);
  EXPECT_FALSE(running->finish().error.has_value()) << "it had started in time";
}

TEST(EngineCancelTest, DrainLetsAcceptedWorkEnd) {
  EngineHarness harness({.scheduler = {.max_running = 1}});
  const auto running = harness.submit_and_hold(harness.request("running", 10), 1);
  const auto waiting = harness.submit(harness.request("waiting", 10));

  harness.engine().drain(harness.now() + hours(1));
  harness.runner().release();
  const auto late = harness.submit(harness.request("late", 10));

  ASSERT_TRUE(late->refusal().has_value());
  EXPECT_EQ(late->refusal()->code, ErrorCode::kServerDraining);
  EXPECT_EQ(running->finish().usage.completion_tokens, 10);
  EXPECT_EQ(waiting->finish().usage.completion_tokens, 10);
  static_cast<void>(harness.snapshot_at_rest());
  EXPECT_TRUE(harness.engine().is_drained());
}

TEST(EngineCancelTest, DrainDeadlineFailsWhatIsLeft) {
  ManualClock clock;
  EngineHarness harness({.scheduler = {.max_running = 1}, .clock = &clock});
  const auto running = harness.submit_and_hold(harness.request("running", 100), 2);
  const auto waiting = harness.submit(harness.request("waiting", 10));

  harness.engine().drain(clock.now() + seconds(30));
  clock.advance(seconds(30));
  harness.runner().release();

  EXPECT_EQ(code_of(running->finish()), ErrorCode::kServerDraining);
  const Outcome outcome = waiting->finish();
  EXPECT_EQ(code_of(outcome), ErrorCode::kServerDraining);
  EXPECT_FALSE(outcome.started);
}

TEST(EngineCancelTest, StopFailsWhatIsLeft) {
  EngineHarness harness;
  const auto client = harness.submit(harness.request("x", 100), 1);  // paused after a step

  harness.engine().stop();

  EXPECT_EQ(code_of(client->finish()), ErrorCode::kServerDraining);
  EXPECT_TRUE(harness.engine().is_drained());
  EXPECT_EQ(harness.engine().snapshot()->num_running, 0);
}

}  // namespace
}  // namespace paceline
