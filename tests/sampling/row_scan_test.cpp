#include "sampling/row_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sampling/random_rows.h"

namespace paceline {
namespace {

using ::testing::ElementsAreArray;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::int32_t> ids_of(std::vector<RankedToken> tokens) {
  std::sort(tokens.begin(), tokens.end(), ranks_before);
  std::vector<std::int32_t> ids;
  for (const auto& token : tokens) ids.push_back(raw(token.id));
  return ids;
}

std::vector<std::int32_t> best_by_sorting(const std::vector<float>& row, std::size_t count) {
  std::vector<RankedToken> all;
  for (std::size_t i = 0; i < row.size(); ++i) all.push_back({static_cast<TokenId>(i), row[i]});
  std::sort(all.begin(), all.end(), ranks_before);
  all.resize(std::min(count, all.size()));
  return ids_of(all);
}

TEST(RowScanTest, MaximumIsFoundAtEveryLengthAndPlace) {
  for (const std::size_t size : {1U, 31U, 32U, 33U, 255U, 256U, 257U, 1000U}) {
    std::vector<float> block_max;
    for (std::size_t place = 0; place < size; place += 7) {
      std::vector<float> row(size, -1);
      row[place] = 2;

      EXPECT_EQ(scan_maxima(row, block_max), 2) << size << ' ' << place;
      EXPECT_EQ(first_index_of(row, 2, block_max), place);
    }
  }
}

TEST(RowScanTest, TiesOfTheMaximumGoToTheLowestIndex) {
  std::vector<float> row(1000, 0);
  row[900] = row[301] = row[302] = 5;
  std::vector<float> block_max;

  const float max = scan_maxima(row, block_max);

  EXPECT_EQ(first_index_of(row, max, block_max), 301U);
}

TEST(RowScanTest, NotANumberIsPassedOver) {
  std::vector<float> row(300, kNan);
  row[70] = -4;
  std::vector<float> block_max;

  EXPECT_EQ(scan_maxima(row, block_max), -4);
  EXPECT_EQ(exp_sum(row, -4), 1);
}

TEST(RowScanTest, RowWithoutNumbersHasNoMaximum) {
  std::vector<float> block_max;

  EXPECT_EQ(scan_maxima(std::vector<float>(40, kNan), block_max), -kInf);
  EXPECT_EQ(scan_maxima({}, block_max), -kInf);
}

TEST(RowScanTest, CollectBestEqualsSortingForEveryCount) {
  std::vector<float> row = random_row(3000, 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::round(row[i] * 4);  // many ties
  std::vector<float> block_max;
  scan_maxima(row, block_max);

  std::vector<RankedToken> best;
  for (const std::size_t count : {1U, 2U, 5U, 12U, 13U, 100U, 2999U, 3000U, 5000U}) {
    collect_best(row, block_max, count, best);
    EXPECT_THAT(ids_of(best), ElementsAreArray(best_by_sorting(row, count))) << count;
  }
}

TEST(RowScanTest, ExponentialIsWithinThreeUnitsOfTheLastPlace) {
  for (double x = 0; x > -87; x -= 0.0123) {
    const auto exact = std::exp(static_cast<double>(static_cast<float>(x)));
    EXPECT_NEAR(static_cast<double>(exp_nonpositive(static_cast<float>(x))) / exact, 1, 3e-7) << x;
  }
  EXPECT_EQ(exp_nonpositive(0), 1);
  EXPECT_EQ(exp_nonpositive(-88), 0);
  EXPECT_EQ(exp_nonpositive(-kInf), 0);
  EXPECT_EQ(exp_nonpositive(kNan), 0);
}

TEST(RowScanTest, SumOfStoredWeightsIsTheSumWithoutStoring) {
  const std::vector<float> row = random_row(151665, 2);
  std::vector<float> block_max;
  const float max = scan_maxima(row, block_max);
  std::vector<float> weights(row.size());
  std::vector<double> block_sums;

  const double stored = exp_weights(row, max, 1, weights, block_sums);

  EXPECT_EQ(stored, exp_sum(row, max));
  double exact = 0;
  for (const float logit : row) exact += std::exp(static_cast<double>(logit - max));
  EXPECT_NEAR(stored / exact, 1, 1e-6);
}

}  // namespace
}  // namespace paceline
