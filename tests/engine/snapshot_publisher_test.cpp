#include "engine/snapshot_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/exposition.h"
#include "tests/metrics/exposition_parser.h"
#include "tests/support/manual_clock.h"

namespace paceline {
namespace {

using ::testing::SizeIs;

class SnapshotPublisherTest : public ::testing::Test {
 protected:
  void publish(const SchedulerSnapshot& scheduler, const LoopState& loop = {}) {
    publisher_.publish(scheduler, loop, [](SequenceId sequence) { return raw(sequence) < 100; });
  }
  [[nodiscard]] double metric(std::string_view series) const {
    return parse_exposition(exposition(registry_)).value(series);
  }

  MetricsRegistry registry_;
  ManualClock clock_;
  EngineMetrics metrics_{
      registry_, clock_, {.model_name = "m", .tenant_labels = {"anonymous", "other"}}};
  SnapshotPublisher publisher_{metrics_, clock_, 16};
};

TEST_F(SnapshotPublisherTest, NeverEmpty) { EXPECT_NE(publisher_.latest(), nullptr); }

TEST_F(SnapshotPublisherTest, WaitingRequestsAreListedOnceInTheirTenantsOrder) {
  SchedulerSnapshot scheduler;
  const auto add = [&](std::uint64_t sequence, std::uint64_t request, std::uint32_t tenant) {
    scheduler.waiting.push_back({.sequence = SequenceId{sequence},
                                 .request = RequestId{request},
                                 .tenant = TenantId{tenant}});
  };
  add(1, 10, 0);
  add(2, 10, 0);    // a second choice
  add(100, 11, 0);  // started before, now preempted
  add(3, 12, 1);
  add(4, 13, 0);

  publish(scheduler);

  const auto& waiting = publisher_.latest()->waiting;
  ASSERT_THAT(waiting, SizeIs(3));
  EXPECT_EQ(waiting[0].request, RequestId{10});
  EXPECT_EQ(waiting[0].position, 1);
  EXPECT_EQ(waiting[1].request, RequestId{12});
  EXPECT_EQ(waiting[1].position, 1);
  EXPECT_EQ(waiting[2].request, RequestId{13});
  EXPECT_EQ(waiting[2].position, 2);
  EXPECT_EQ(waiting[0].estimated_start_ms, -1) << "nothing was measured yet";
}

TEST_F(SnapshotPublisherTest, StartIsEstimatedFromTheMeasuredRate) {
  SchedulerSnapshot scheduler;
  clock_.advance(std::chrono::seconds(10));
  scheduler.num_prefill_tokens = 800;
  scheduler.num_decode_tokens = 100;  // charged twice
  scheduler.num_waiting_tokens = 400;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    scheduler.waiting.push_back({.sequence = SequenceId{i}, .request = RequestId{i}});
  }

  publish(scheduler);

  const auto snapshot = publisher_.latest();
  EXPECT_DOUBLE_EQ(snapshot->tokens_per_second, 100);
  EXPECT_DOUBLE_EQ(snapshot->waiting[0].estimated_start_ms, 2000);
  EXPECT_DOUBLE_EQ(snapshot->waiting[1].estimated_start_ms, 4000);
}

TEST_F(SnapshotPublisherTest, CountersRiseByWhatIsNew) {
  SchedulerSnapshot scheduler;
  scheduler.num_preemptions = 3;
  scheduler.num_evicted_blocks = 5;
  scheduler.decisions[static_cast<std::size_t>(Decision::kDefer)] = 7;

  publish(scheduler);
  publish(scheduler);
  scheduler.num_preemptions = 4;
  publish(scheduler);

  EXPECT_EQ(metric(R"(vllm:num_preemptions_total{model_name="m"})"), 4);
  EXPECT_EQ(metric(R"(paceline_kv_evicted_blocks_total{cause="pool_full",owner="same"})"), 5);
  EXPECT_EQ(metric(R"(paceline_sched_decisions_total{decision="defer"})"), 7);
}

TEST_F(SnapshotPublisherTest, TenantsThatShareALabelAreSummed) {
  SchedulerSnapshot scheduler;
  for (std::uint32_t tenant = 0; tenant < 3; ++tenant) {
    scheduler.tenants.push_back({.tenant = TenantId{tenant}, .num_running = 1, .num_waiting = 10});
  }

  publish(scheduler);

  EXPECT_EQ(metric(R"(paceline_tenant_running{tenant="anonymous"})"), 1);
  EXPECT_EQ(metric(R"(paceline_tenant_running{tenant="other"})"), 2);
  EXPECT_EQ(metric(R"(paceline_tenant_waiting{tenant="other"})"), 20);
}

TEST_F(SnapshotPublisherTest, FaultMakesItUnhealthy) {
  publish({}, {.has_work = false, .last_step_at = {}, .fault = "a block is lost"});

  EXPECT_FALSE(publisher_.latest()->healthy);
  EXPECT_EQ(publisher_.latest()->fault, "a block is lost");
}

}  // namespace
}  // namespace paceline
