#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/sampling/random_rows.h"

namespace paceline {
namespace {

TEST(LogprobsTest, ValuesAreTheLogSoftmaxOfTheRow) {
  const std::vector<float> row = random_row(151665, 6);
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit));

  const TokenLogprobs scored = LogprobsCalculator().score(row, TokenId{77}, 20);

  EXPECT_EQ(scored.chosen.id, TokenId{77});
  EXPECT_NEAR(scored.chosen.logprob, static_cast<double>(row[77]) - std::log(sum), 1e-5);
  ASSERT_EQ(scored.top.size(), 20U);
  for (const ScoredToken& token : scored.top) {
    EXPECT_NEAR(token.logprob, static_cast<double>(row[index_of(token.id)]) - std::log(sum), 1e-5);
  }
}

TEST(LogprobsTest, TopFallsWithTiesByLowerId) {
  const TokenLogprobs scored =
      LogprobsCalculator().score(std::vector<float>{1, 5, 3, 5, 3, 3}, TokenId{0}, 4);

  ASSERT_EQ(scored.top.size(), 4U);
  EXPECT_EQ(scored.top[0].id, TokenId{1});
  EXPECT_EQ(scored.top[1].id, TokenId{3});
  EXPECT_EQ(scored.top[2].id, TokenId{2});
  EXPECT_EQ(scored.top[3].id, TokenId{4});
}

TEST(LogprobsTest, ValuesAreFiniteAndNeverPositive) {
  const std::vector<float> row{1e30F, -1e30F, 0, std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::infinity()};
  LogprobsCalculator calculator;

  EXPECT_EQ(calculator.score(row, TokenId{0}, 0).chosen.logprob, 0);
  for (std::int32_t id = 1; id < 5; ++id) {
    EXPECT_EQ(calculator.score(row, TokenId{id}, 0).chosen.logprob, -9999) << id;
  }
}

TEST(LogprobsTest, RowWithoutFiniteLogitsIsAtTheFloor) {
  const float inf = std::numeric_limits<float>::infinity();
  LogprobsCalculator calculator;

  EXPECT_EQ(calculator.score(std::vector<float>{-inf, -inf}, TokenId{1}, 0).chosen.logprob, -9999);
  EXPECT_EQ(calculator.score(std::vector<float>{inf, 1}, TokenId{1}, 0).chosen.logprob, -9999);
}

TEST(LogprobsTest, AskingForNoneGivesNone) {
  EXPECT_TRUE(LogprobsCalculator().score(std::vector<float>{1, 2}, TokenId{0}, 0).top.empty());
}

}  // namespace
}  // namespace paceline
