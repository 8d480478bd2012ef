#include <gmock/gmock.h>

#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_harness.h"

namespace paceline {
namespace {

using ::testing::DoubleNear;

/// Tokens charged to a tenant so far, each at its cost.
double service(SchedulerHarness& harness, std::size_t tenant) {
  return harness.scheduler().snapshot().tenants[tenant].service_tokens;
}

TEST(SchedulerFairnessTest, BackloggedTenantsAreServedInProportionToTheirWeights) {
  SchedulerOptions options = plain_options(400);
  options.max_running = 8;
  options.max_step_tokens = 32;
  options.max_gap_tokens = 200;
  SchedulerHarness harness(options);
  harness.scheduler().set_tenant({.id = TenantId{1}, .weight = 1});
  harness.scheduler().set_tenant({.id = TenantId{2}, .weight = 3});
  for (int i = 0; i < 100; ++i) {
    for (const unsigned tenant : {1U, 2U}) {
      harness.add({.prompt = token_run(10000 * i + 100 * static_cast<int>(tenant), 20),
                   .max_new_tokens = 20,
                   .tenant = tenant});
    }
  }

  for (int i = 0; i < 300; ++i) harness.step();

  const double light = service(harness, 1);
  const double heavy = service(harness, 2);
  EXPECT_GT(light, 1000);
  // Counters differ by at most the gap and a step: 3 · light and heavy by 3 times that.
  EXPECT_THAT(heavy, DoubleNear(3 * light, 3 * (200 + 48)));
}

TEST(SchedulerFairnessTest, FloodOfOneTenantDelaysAnotherByOneStepOfPrompts) {
  SchedulerOptions options = plain_options(2000, 16);
  options.max_step_tokens = 128;
  SchedulerHarness harness(options);
  for (int i = 0; i < 40; ++i) {
    harness.add({.prompt = token_run(1000 * i, 200), .max_new_tokens = 16, .tenant = 1});
  }
  for (int i = 0; i < 4; ++i) harness.step();
  const SequenceId other =
      harness.add({.prompt = token_run(90000, 16), .max_new_tokens = 1, .tenant = 2});

  int num_steps = 0;
  while (!harness.is_finished(other)) {
    harness.step();
    ++num_steps;
  }

  EXPECT_LE(num_steps, 3);
}

TEST(SchedulerFairnessTest, TenantAGapAheadGivesItsPlaceToAWaitingOne) {
  SchedulerOptions options = plain_options(1000);
  options.max_running = 4;
  options.max_gap_tokens = 100;
  SchedulerHarness harness(options);
  for (int i = 0; i < 4; ++i) {
    harness.add({.prompt = token_run(1000 * i, 4), .max_new_tokens = 500, .tenant = 1});
  }
  harness.step();
  const SequenceId other =
      harness.add({.prompt = token_run(90000, 4), .max_new_tokens = 40, .tenant = 2});

  int num_steps = 0;
  while (!harness.is_finished(other)) {
    harness.step();
    ++num_steps;
  }

  // Eight virtual tokens a step reach the gap of 100 in 13 steps, instead of 500 without it.
  EXPECT_LT(num_steps, 13 + 2 * 40);
  EXPECT_EQ(harness.stats(other).num_preemptions, 0);
  harness.run();
  for (unsigned i = 1; i <= 4; ++i) {
    const SequenceId id{i};
    EXPECT_EQ(harness.output(id), FakeModel::expected_output(harness.spec(id).prompt, 500));
  }
}

TEST(SchedulerFairnessTest, CachedTokensCostNothing) {
  SchedulerHarness harness(plain_options(100));
  for (int i = 0; i < 2; ++i) {
    harness.add({.prompt = token_run(0, 40), .max_new_tokens = 3, .tenant = 1});
    harness.run();
  }

  EXPECT_EQ(service(harness, 1), (40 + 2 * 3) + (1 + 2 * 3));
}

TEST(SchedulerFairnessTest, OneTenantAloneIsNeverHeld) {
  SchedulerOptions options = plain_options(1000);
  options.max_running = 2;
  options.max_gap_tokens = 1;
  SchedulerHarness harness(options);
  for (int i = 0; i < 6; ++i) {
    harness.add({.prompt = token_run(1000 * i, 10), .max_new_tokens = 10, .tenant = 3});
  }

  EXPECT_EQ(harness.run(), 3 * 10);
}

}  // namespace
}  // namespace paceline
