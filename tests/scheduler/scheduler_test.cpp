#include "scheduler/scheduler.h"

#include <gmock/gmock.h>

#include <chrono>
#include <vector>

#include "tests/scheduler/scheduler_harness.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Runs `num_steps` steps and returns their descriptions.
std::vector<std::string> timeline(SchedulerHarness& harness, int num_steps) {
  std::vector<std::string> steps;
  for (int i = 0; i < num_steps; ++i) steps.push_back(harness.step());
  return steps;
}

TEST(SchedulerTest, GeneratedTokenIsComputedInTheNextStep) {
  SchedulerHarness harness(plain_options(16));
  harness.add({.prompt = token_run(0, 5), .max_new_tokens = 3});

  EXPECT_THAT(timeline(harness, 4), ElementsAre("1@0+5*", "1@5+1*", "1@6+1*", ""));
  EXPECT_EQ(harness.scheduler().snapshot().num_prefill_tokens, 5U);
  EXPECT_EQ(harness.scheduler().snapshot().num_decode_tokens, 2U);
}

TEST(SchedulerTest, PromptWithoutOutputIsComputedAndGone) {
  SchedulerHarness harness(plain_options(16));
  harness.add({.prompt = token_run(0, 5), .max_new_tokens = 0});

  EXPECT_THAT(timeline(harness, 2), ElementsAre("1@0+5*", ""));
  EXPECT_EQ(harness.scheduler().find(SequenceId{1}), nullptr);
}

TEST(SchedulerTest, OverBudgetPromptIsSplitAcrossSteps) {
  SchedulerOptions options = plain_options(16);
  options.max_chunk_tokens = 4;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 10), .max_new_tokens = 1});

  EXPECT_THAT(timeline(harness, 4), ElementsAre("1@0+4", "1@4+4", "1@8+2*", ""));
}

TEST(SchedulerTest, DecodesComeFirstAndPromptsFillTheStep) {
  SchedulerOptions options = plain_options(32);
  options.max_step_tokens = 6;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 3), .max_new_tokens = 5});
  EXPECT_EQ(harness.step(), "1@0+3*");
  harness.add({.prompt = token_run(100, 8), .max_new_tokens = 2});
  harness.add({.prompt = token_run(200, 4), .max_new_tokens = 1});

  EXPECT_THAT(timeline(harness, 4),
              ElementsAre("1@3+1* 2@0+5", "1@4+1* 2@5+3* 3@0+2", "1@5+1* 2@8+1* 3@2+2*", "1@6+1*"));
}

TEST(SchedulerTest, BatchIsBoundedAndTheRestWaitsInOrder) {
  SchedulerOptions options = plain_options(32);
  options.max_running = 1;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 3), .max_new_tokens = 2});
  harness.add({.prompt = token_run(100, 3), .max_new_tokens = 1});
  harness.add({.prompt = token_run(200, 3), .max_new_tokens = 1, .priority = -1});

  EXPECT_THAT(timeline(harness, 2), ElementsAre("3@0+3*", "1@0+3*"));
  const SchedulerSnapshot snapshot = harness.scheduler().snapshot();
  ASSERT_THAT(snapshot.waiting, SizeIs(1));
  EXPECT_EQ(snapshot.waiting[0].sequence, SequenceId{2});
  EXPECT_EQ(snapshot.waiting[0].reason, DecisionReason::kBatchFull);
  EXPECT_EQ(snapshot.num_waiting_requests, 1);
  EXPECT_EQ(snapshot.num_waiting_tokens, 3);
  EXPECT_THAT(timeline(harness, 3), ElementsAre("1@3+1*", "2@0+3*", ""));
}

TEST(SchedulerTest, LongPromptLeavesHalfOfTheStepToAShortOne) {
  SchedulerOptions options = plain_options(2000, 16);
  options.target_step_ms = 20;
  options.min_chunk_tokens = 16;
  SchedulerHarness harness(options);
  const SequenceId running = harness.add({.prompt = token_run(0, 16), .max_new_tokens = 300});
  for (int i = 0; i < 50; ++i) harness.step();
  const SequenceId long_prompt = harness.add({.prompt = token_run(0, 4000), .max_new_tokens = 1});
  harness.step();
  const SequenceId short_prompt = harness.add({.prompt = token_run(9000, 40), .max_new_tokens = 1});

  int num_steps = 0;
  while (!harness.is_finished(short_prompt)) {
    const TimePoint before = harness.clock().now();
    harness.step();
    ++num_steps;
    // Every step moves the stream, and none is longer than twice the target.
    EXPECT_EQ(harness.last_plan().sequences[0].sequence, running);
    EXPECT_LT(to_ms(harness.clock().now() - before), 40);
  }

  EXPECT_LE(num_steps, 2);
  EXPECT_FALSE(harness.is_finished(long_prompt));
}

TEST(SchedulerTest, EveryStepCarriesTheMinimumOfAWaitingPrompt) {
  SchedulerOptions options = plain_options(2000, 16);
  options.target_step_ms = 0.001;
  options.min_chunk_tokens = 16;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 4), .max_new_tokens = 20});
  harness.step();
  harness.add({.prompt = token_run(100, 40), .max_new_tokens = 1});

  EXPECT_THAT(timeline(harness, 3),
              ElementsAre("1@4+1* 2@0+16", "1@5+1* 2@16+16", "1@6+1* 2@32+8*"));
}

TEST(SchedulerTest, PromptLogprobsGiveARowForEveryPositionInBoundedChunks) {
  SchedulerOptions options = plain_options(32);
  options.max_prompt_logprob_rows = 4;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 9), .max_new_tokens = 2});
  harness.run();
  harness.add({.prompt = token_run(0, 9), .max_new_tokens = 2, .prompt_logprobs = true});

  EXPECT_THAT(timeline(harness, 5), ElementsAre("2@0+4*4", "2@4+4*4", "2@8+1*", "2@9+1*", ""));
  EXPECT_EQ(harness.stats(SequenceId{2}).cached_tokens, 0);
}

TEST(SchedulerTest, RowsOfAStepAreBounded) {
  SchedulerOptions options = plain_options(64);
  options.max_prompt_logprob_rows = 8;
  options.max_logits_rows = 8;
  SchedulerHarness harness(options);
  for (int i = 0; i < 5; ++i) {
    harness.add({.prompt = token_run(100 * i, 20), .max_new_tokens = 4, .prompt_logprobs = true});
  }

  harness.run();

  for (unsigned i = 1; i <= 5; ++i) EXPECT_EQ(harness.num_rows(SequenceId{i}), 20 + 3);
}

TEST(SchedulerTest, SiblingsWaitForTheFirstAndShareItsPrompt) {
  SchedulerHarness harness(plain_options(32));
  const SequenceId first = harness.add({.prompt = token_run(0, 10), .max_new_tokens = 3});
  harness.add({.prompt = token_run(0, 10), .max_new_tokens = 2, .after = first});

  EXPECT_THAT(timeline(harness, 3), ElementsAre("1@0+10*", "1@10+1* 2@8+2*", "1@11+1* 2@10+1*"));
  EXPECT_EQ(harness.stats(SequenceId{2}).cached_tokens, 8);
}

TEST(SchedulerTest, SiblingGoesOnWhenTheFirstIsCancelled) {
  SchedulerHarness harness(plain_options(32));
  const SequenceId first = harness.add({.prompt = token_run(0, 10), .max_new_tokens = 3});
  harness.add({.prompt = token_run(0, 10), .max_new_tokens = 1, .after = first});

  harness.cancel(first);

  EXPECT_EQ(harness.step(), "2@0+10*");
}

TEST(SchedulerTest, CancelFreesBlocksInEveryPhase) {
  SchedulerOptions options = plain_options(16);
  options.max_running = 2;
  options.max_chunk_tokens = 4;
  SchedulerHarness harness(options);
  const SequenceId decoding = harness.add({.prompt = token_run(0, 4), .max_new_tokens = 9});
  const SequenceId in_prompt = harness.add({.prompt = token_run(100, 9), .max_new_tokens = 9});
  const SequenceId waiting = harness.add({.prompt = token_run(200, 4), .max_new_tokens = 9});
  harness.step();
  harness.step();

  for (const SequenceId id : {waiting, in_prompt, decoding}) harness.cancel(id);

  EXPECT_EQ(harness.scheduler().snapshot().num_active_blocks, 0);
  EXPECT_FALSE(harness.scheduler().has_work());
  EXPECT_EQ(harness.scheduler().cancel(decoding), std::nullopt);
}

TEST(SchedulerTest, FailedStepGivesItsBlocksBackAndCanBeRepeated) {
  SchedulerHarness harness(plain_options(16));
  const SequenceId id = harness.add({.prompt = token_run(0, 9), .max_new_tokens = 4});
  static_cast<void>(harness.scheduler().schedule());
  EXPECT_EQ(harness.scheduler().snapshot().num_active_blocks, 3);

  harness.scheduler().abort_step();

  EXPECT_EQ(harness.scheduler().snapshot().num_active_blocks, 0);
  EXPECT_THAT(harness.scheduler().check_invariants(), IsEmpty());
  harness.run();
  EXPECT_EQ(harness.output(id), FakeModel::expected_output(token_run(0, 9), 4));
}

TEST(SchedulerTest, FailedStepWithACopyRecomputesWhatWasNotCopied) {
  SchedulerHarness harness(plain_options(16));
  harness.add({.prompt = token_run(0, 8), .max_new_tokens = 1});
  harness.run();
  const SequenceId id =
      harness.add({.prompt = join(token_run(0, 6), token_run(50, 3)), .max_new_tokens = 3});
  EXPECT_THAT(harness.scheduler().schedule().copies, SizeIs(1));

  harness.scheduler().abort_step();

  EXPECT_EQ(harness.step(), "2@4+5*");
  harness.run();
  EXPECT_EQ(harness.output(id), FakeModel::expected_output(harness.spec(id).prompt, 3));
}

TEST(SchedulerTest, QueueBoundsRefuseWholeRequests) {
  SchedulerOptions options = plain_options(64);
  options.max_queued = 1;
  SchedulerHarness harness(options);
  harness.add({.prompt = token_run(0, 4)});

  const auto refused = harness.try_add({.prompt = token_run(0, 4)});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kServerOverloaded);
  const auto rejects = static_cast<std::size_t>(Decision::kReject);
  EXPECT_EQ(harness.scheduler().snapshot().decisions[rejects], 1U);
  EXPECT_THAT(timeline(harness, 2), ElementsAre("1@0+4*", ""));
}

TEST(SchedulerTest, StatsTellWhatASequenceCost) {
  using std::chrono::milliseconds;
  SchedulerHarness harness(plain_options(16));
  const TimePoint queued = harness.clock().now();
  const SequenceId id = harness.add({.prompt = token_run(0, 5), .max_new_tokens = 2});
  harness.clock().advance(milliseconds(70));
  harness.step();
  const TimePoint after_prompt = harness.clock().now();
  harness.step();

  const SequenceStats& stats = harness.stats(id);
  EXPECT_EQ(stats.queued_at, queued);
  EXPECT_EQ(stats.first_scheduled_at, queued + milliseconds(70));
  // Two blocks from the end of the first step to the end of the second.
  EXPECT_DOUBLE_EQ(stats.kv_block_seconds, 2 * to_seconds(harness.clock().now() - after_prompt));
  EXPECT_EQ(stats.decisions.entries()[0].decision, Decision::kAdmit);
}

TEST(SchedulerTest, DeferredSequenceKnowsWhyAndHowOften) {
  SchedulerHarness harness(plain_options(6));
  harness.add({.prompt = token_run(0, 8), .max_new_tokens = 4});
  const SequenceId second = harness.add({.prompt = token_run(100, 8), .max_new_tokens = 4});
  harness.run();

  const auto entries = harness.stats(second).decisions.entries();
  EXPECT_EQ(entries[0].decision, Decision::kDefer);
  EXPECT_EQ(entries[0].reason, DecisionReason::kKvFull);
  EXPECT_GT(entries[0].count, 1);
  EXPECT_GT(entries[0].need_blocks, entries[0].free_blocks);
  EXPECT_EQ(entries[1].decision, Decision::kAdmit);
}

}  // namespace
}  // namespace paceline
