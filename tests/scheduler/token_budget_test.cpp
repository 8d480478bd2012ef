#include "scheduler/token_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

/// A model taught 10 ms + 0.5 ms a token.
CostModel half_ms_a_token() {
  CostModel model;
  for (int i = 0; i < 2000; ++i) {
    StepWork work;
    work.add((i * 37) % 1000, 1 + (i * 13) % 200);
    model.observe(work, 10 + 0.5 * work.num_tokens);
  }
  return model;
}

TEST(TokenBudgetTest, DecodingThatTakesLongerThanTheTargetDoublesIt) {
  EXPECT_EQ(step_limit_ms(20, 50), 50);
  EXPECT_EQ(step_limit_ms(50, 50), 50);
  EXPECT_EQ(step_limit_ms(51, 50), 100);
}

TEST(TokenBudgetTest, ChunkFillsWhatIsLeftOfTheStep) {
  const CostModel model = half_ms_a_token();
  StepWork decodes;
  for (int i = 0; i < 20; ++i) decodes.add(0, 1);
  struct Case {
    ChunkRequest request;
    double limit_ms;
    int low, high;  ///< the fit is not exact
  };
  const std::vector<Case> cases = {
      {{.max_tokens = 500, .min_tokens = 16}, 50, 57, 63},                    // 40 ms - 20 decodes
      {{.max_tokens = 30, .min_tokens = 16}, 50, 30, 30},                     // all of a short one
      {{.max_tokens = 500, .min_tokens = 16, .shares = true}, 50, 28, 32},    // half of it
      {{.max_tokens = 500, .min_tokens = 16, .shares = true}, 30, 16, 16},    // not below min
      {{.max_tokens = 500, .min_tokens = 16}, 25, 0, 0},                      // a crumb: nothing
      {{.max_tokens = 500, .min_tokens = 16, .is_first = true}, 25, 16, 16},  // but one moves
      {{.max_tokens = 5, .min_tokens = 5, .is_first = true}, 1, 5, 5},
      {{.max_tokens = 0, .min_tokens = 0, .is_first = true}, 50, 0, 0},
  };

  for (const Case& c : cases) {
    const int chunk = chunk_size(c.request, model, decodes, c.limit_ms);
    EXPECT_GE(chunk, c.low);
    EXPECT_LE(chunk, c.high);
  }
}

}  // namespace
}  // namespace paceline
