#include "scheduler/admission.h"

#include <gmock/gmock.h>

#include <vector>

namespace paceline {
namespace {

using ::testing::HasSubstr;

SchedulerOptions options() {
  SchedulerOptions options;
  options.block_size = 16;
  options.num_blocks = 64;
  options.max_context = 4096;
  options.max_queued = 2;
  options.max_queued_tokens = 100;
  return options;
}

TEST(AdmissionTest, WhatCanNeverFitIsRefusedWithBothNumbers) {
  EXPECT_TRUE(check_fits(1000, 24, options()));

  const auto too_long = check_fits(4000, 97, options());
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::kContextLengthExceeded);
  EXPECT_THAT(too_long.error().message, HasSubstr("4096"));

  const auto too_large = check_fits(2000, 1, options());
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kKvCapacityExceeded);
  EXPECT_THAT(too_large.error().message, HasSubstr("2000"));
  EXPECT_THAT(too_large.error().message, HasSubstr("1024"));
}

TEST(AdmissionTest, LargestRequestIsTheSmallerOfContextAndPool) {
  SchedulerOptions o = options();
  EXPECT_EQ(max_total_tokens(o), 1024);
  o.max_context = 512;
  EXPECT_EQ(max_total_tokens(o), 512);
}

TEST(AdmissionTest, QueueRefusesBeyondItsBounds) {
  struct Case {
    QueueLoad waiting;
    std::int64_t num_tokens;
    bool accepted;
  };
  const std::vector<Case> cases = {
      {{0, 0}, 10, true},  {{1, 90}, 10, true}, {{1, 91}, 10, false},
      {{2, 20}, 1, false}, {{0, 0}, 500, true},
  };

  for (const Case& c : cases) {
    const auto result = check_queue(c.waiting, c.num_tokens, options());
    EXPECT_EQ(result.has_value(), c.accepted) << c.waiting.num_tokens;
    if (!result) {
      EXPECT_EQ(result.error().code, ErrorCode::kServerOverloaded);
    }
  }
}

TEST(AdmissionTest, BlocksOfAJoiningSequence) {
  struct Case {
    int num_tokens;
    int num_held_hits;
    int num_active;
    int promised;
    int blocks;
  };
  const std::vector<Case> cases = {
      {32, 0, 0, 0, 2},  // alone: what its tokens fill
      {32, 0, 1, 0, 5},  // 3 for 33 tokens, and one block each of headroom
      {32, 2, 1, 0, 3},  // shared blocks cost nothing
      {33, 0, 2, 4, 10},
  };

  for (const Case& c : cases) {
    const AdmissionState state{.num_active = c.num_active, .promised_blocks = c.promised};
    EXPECT_EQ(blocks_to_admit(c.num_tokens, c.num_held_hits, 16, state), c.blocks);
  }
}

TEST(AdmissionTest, ObstacleIsNamed) {
  const AdmissionState state{.num_running = 1, .max_running = 2, .available_blocks = 3};

  EXPECT_EQ(admission_obstacle(3, state), DecisionReason::kNone);
  EXPECT_EQ(admission_obstacle(4, state), DecisionReason::kKvFull);
  EXPECT_EQ(admission_obstacle(1, {.num_running = 2, .max_running = 2, .available_blocks = 9}),
            DecisionReason::kBatchFull);
}

TEST(AdmissionTest, BatchIsBoundedByRowsAndTokensToo) {
  SchedulerOptions o = options();
  o.max_running = 64;
  o.max_logits_rows = 32;
  o.max_step_tokens = 48;

  EXPECT_EQ(max_batch_size(o), 32);
}

}  // namespace
}  // namespace paceline
