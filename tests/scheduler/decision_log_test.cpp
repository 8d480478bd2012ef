#include "scheduler/decision_log.h"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using ::testing::SizeIs;

TEST(DecisionLogTest, EqualConsecutiveDecisionsAreMerged) {
  DecisionLog log;

  log.record({.step = 5, .reason = DecisionReason::kKvFull, .need_blocks = 20, .free_blocks = 6});
  log.record({.step = 6, .reason = DecisionReason::kKvFull, .need_blocks = 20, .free_blocks = 8});
  log.record({.step = 7, .decision = Decision::kAdmit});

  ASSERT_THAT(log.entries(), SizeIs(2));
  EXPECT_EQ(log.entries()[0].count, 2);
  EXPECT_EQ(log.entries()[0].step, 5U);
  EXPECT_EQ(log.entries()[0].free_blocks, 8);
  EXPECT_EQ(log.entries()[1].decision, Decision::kAdmit);
}

TEST(DecisionLogTest, KeepsTheFirstAndTheNewestOfMany) {
  DecisionLog log;

  for (std::uint64_t i = 0; i < 100; ++i) {
    log.record({.step = i, .decision = i % 2 == 0 ? Decision::kAdmit : Decision::kPreempt});
  }

  ASSERT_THAT(log.entries(), SizeIs(DecisionLog::kMaxEntries));
  EXPECT_EQ(log.entries().front().step, 0U);
  EXPECT_EQ(log.entries().back().step, 99U);
}

TEST(DecisionLogTest, LabelsAreThoseOfTheInterface) {
  EXPECT_EQ(to_string(Decision::kSkipAhead), "skip_ahead");
  EXPECT_EQ(to_string(Decision::kReject), "reject");
  EXPECT_EQ(to_string(DecisionReason::kKvFull), "kv_full");
  EXPECT_EQ(to_string(DecisionReason::kDeadline), "deadline");
}

}  // namespace
}  // namespace paceline
