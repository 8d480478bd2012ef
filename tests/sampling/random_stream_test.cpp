#include "sampling/random_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace paceline {
namespace {

TEST(RandomStreamTest, NumbersAreAFunctionOfSeedChoiceAndPosition) {
  const RandomStream first(42, 3);
  const RandomStream again(42, 3);

  EXPECT_EQ(first.uniform(17), again.uniform(17));
  EXPECT_EQ(first.uniform(17), first.uniform(17));
}

TEST(RandomStreamTest, SeedsChoicesAndPositionsDiffer) {
  std::set<double> numbers;
  for (std::int64_t seed = -5; seed < 5; ++seed) {
    for (int choice = 0; choice < 10; ++choice) {
      for (std::uint64_t position = 0; position < 10; ++position) {
        numbers.insert(RandomStream(seed, choice).uniform(position));
      }
    }
  }

  EXPECT_EQ(numbers.size(), 1000U);
}

TEST(RandomStreamTest, NumbersAreUniform) {
  constexpr int kBins = 16;
  constexpr int kDraws = 16000;
  int counts[kBins] = {};
  for (int i = 0; i < kDraws; ++i) {
    const double number = RandomStream(7, 0).uniform(static_cast<std::uint64_t>(i));
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    ++counts[static_cast<int>(number * kBins)];
  }

  // Chi-square with 15 degrees of freedom stays below 37.7 with probability 0.999.
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / kBins, 2) * kBins / kDraws;
  EXPECT_LT(chi_square, 37.7);
}

TEST(RandomStreamTest, RandomSeedsDiffer) { EXPECT_NE(random_seed(), random_seed()); }

}  // namespace
}  // namespace paceline
