#include <gmock/gmock.h>

#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_harness.h"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(SchedulerPreemptionTest, PromptThatFitsTheContextButNotThePoolIsRefusedAtOnce) {
  SchedulerOptions options = plain_options(64, 16);
  options.max_context = 4096;
  SchedulerHarness harness(options);

  const auto refused = harness.try_add({.prompt = token_run(0, 2000), .max_new_tokens = 1});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kKvCapacityExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("1024"));
  const SequenceId next = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 4});
  EXPECT_EQ(harness.run(), 4);
  EXPECT_TRUE(harness.is_finished(next));
}

TEST(SchedulerPreemptionTest, RequestOfTheWholePoolRunsAlone) {
  SchedulerHarness harness(plain_options(8));
  ASSERT_EQ(harness.scheduler().max_total_tokens(), 32);
  const auto prompt = token_run(0, 20);
  const SequenceId id = harness.add({.prompt = prompt, .max_new_tokens = 12});

  harness.run();

  EXPECT_EQ(harness.output(id), FakeModel::expected_output(prompt, 12));
}

TEST(SchedulerPreemptionTest, AllFinishWhenThePoolRunsOutWhileDecoding) {
  SchedulerHarness harness(plain_options(64, 16));
  std::vector<SequenceId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(harness.add({.prompt = token_run(1000 * i, 200), .max_new_tokens = 400}));
  }

  const int num_steps = harness.run();

  for (const SequenceId id : ids) {
    EXPECT_EQ(harness.output(id), FakeModel::expected_output(harness.spec(id).prompt, 400));
  }
  const SchedulerSnapshot snapshot = harness.scheduler().snapshot();
  EXPECT_GT(snapshot.num_preemptions, 0U);
  EXPECT_LT(snapshot.num_preemptions, 32U);
  EXPECT_LT(num_steps, 8 * 400);
  EXPECT_EQ(snapshot.num_active_blocks, 0);
}

TEST(SchedulerPreemptionTest, NewestGivesWayAndGoesOnFirstWithItsTokens) {
  SchedulerHarness harness(plain_options(8));
  const SequenceId old = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 24});
  const SequenceId young = harness.add({.prompt = token_run(100, 8), .max_new_tokens = 12});
  harness.step();
  const SequenceId waiting = harness.add({.prompt = token_run(200, 4), .max_new_tokens = 2});

  while (!harness.is_finished(old)) harness.step();

  EXPECT_GT(harness.scheduler().find(young)->stats().num_preemptions, 0);
  EXPECT_FALSE(harness.scheduler().find(waiting)->stats().first_scheduled_at);
  harness.run();
  EXPECT_EQ(harness.stats(old).num_preemptions, 0);
  EXPECT_EQ(harness.output(young), FakeModel::expected_output(harness.spec(young).prompt, 12));
  EXPECT_THAT(harness.stats(young).decisions.entries(),
              Contains(Field(&DecisionEntry::decision, Decision::kPreempt)));
}

TEST(SchedulerPreemptionTest, PromptRowsAreGivenOnceInSpiteOfPreemption) {
  SchedulerHarness harness(plain_options(8));
  harness.add({.prompt = token_run(0, 8), .max_new_tokens = 24});
  const SequenceId young =
      harness.add({.prompt = token_run(100, 8), .max_new_tokens = 12, .prompt_logprobs = true});

  harness.run();

  EXPECT_GT(harness.stats(young).num_preemptions, 0);
  EXPECT_EQ(harness.num_rows(young), 8 + 11);
}

TEST(SchedulerPreemptionTest, RecomputeIsNotCharged) {
  SchedulerHarness harness(plain_options(8));
  harness.add({.prompt = token_run(0, 8), .max_new_tokens = 24, .tenant = 1});
  const SequenceId young =
      harness.add({.prompt = token_run(100, 8), .max_new_tokens = 12, .tenant = 2});

  harness.run();

  EXPECT_GT(harness.stats(young).num_preemptions, 0);
  EXPECT_EQ(harness.scheduler().snapshot().tenants[2].service_tokens, 8 + 2 * 12);
}

TEST(SchedulerPreemptionTest, PausedSequenceKeepsItsBlocksAndGoesOnWhereItStood) {
  SchedulerHarness harness(plain_options(32));
  const SequenceId slow = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 4});
  harness.add({.prompt = token_run(100, 8), .max_new_tokens = 9});
  harness.step();

  harness.scheduler().pause(slow);
  EXPECT_EQ(harness.step(), "2@8+1*");
  EXPECT_EQ(harness.scheduler().snapshot().num_paused, 1);

  harness.scheduler().resume(slow);
  EXPECT_EQ(harness.step(), "1@8+1* 2@9+1*");
}

TEST(SchedulerPreemptionTest, OnlyPausedSequencesAreNoWork) {
  SchedulerHarness harness(plain_options(32));
  const SequenceId running = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 4});
  harness.step();
  const SequenceId waiting = harness.add({.prompt = token_run(100, 8), .max_new_tokens = 4});

  harness.scheduler().pause(running);
  harness.scheduler().pause(waiting);

  EXPECT_EQ(harness.step(), "");
  harness.scheduler().resume(waiting);
  EXPECT_EQ(harness.step(), "2@0+8*");
}

TEST(SchedulerPreemptionTest, PausedSequenceGivesWayToAWaitingOneEvenWhenOlder) {
  SchedulerOptions options = plain_options(32);
  options.max_running = 1;
  SchedulerHarness harness(options);
  const SequenceId slow = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 4});
  harness.step();
  harness.add({.prompt = token_run(100, 8), .max_new_tokens = 2});
  EXPECT_EQ(harness.step(), "1@8+1*");

  harness.scheduler().pause(slow);

  EXPECT_EQ(harness.step(), "2@0+8*");
  harness.scheduler().resume(slow);
  harness.run();
  EXPECT_EQ(harness.stats(slow).num_preemptions, 1);
  EXPECT_EQ(harness.output(slow), FakeModel::expected_output(token_run(0, 8), 4));
}

TEST(SchedulerPreemptionTest, PausedSequenceLosesItsBlocksBeforeARunningOne) {
  SchedulerHarness harness(plain_options(10));
  const SequenceId slow = harness.add({.prompt = token_run(0, 12), .max_new_tokens = 4});
  const SequenceId other = harness.add({.prompt = token_run(100, 8), .max_new_tokens = 24});
  harness.step();
  harness.scheduler().pause(slow);

  while (!harness.is_finished(other)) harness.step();

  EXPECT_EQ(harness.stats(other).num_preemptions, 0);
  EXPECT_EQ(harness.scheduler().find(slow)->stats().num_preemptions, 1);
}

}  // namespace
}  // namespace paceline
