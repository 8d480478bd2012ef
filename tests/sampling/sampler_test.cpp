#include "sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "sampling/random_stream.h"
#include "tests/sampling/random_rows.h"

namespace paceline {
namespace {

using ::testing::UnorderedElementsAre;

// Ids that 2 000 draws give.
std::set<std::int32_t> drawn(const std::vector<float>& row, const SamplingParams& params) {
  Sampler sampler;
  std::set<std::int32_t> ids;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    ids.insert(raw(*sampler.sample(row, params, RandomStream(1, 0).uniform(i))));
  }
  return ids;
}

std::int32_t sample_one(const std::vector<float>& row, const SamplingParams& params,
                        double uniform) {
  return raw(*Sampler().sample(row, params, uniform));
}

// Logits whose softmax is the given distribution.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> row;
  for (const double p : probabilities) row.push_back(static_cast<float>(std::log(p)));
  return row;
}

TEST(SamplerTest, TemperatureZeroIsArgmaxWhateverTheCuts) {
  const std::vector<float> row = random_row(151665, 3);
  const auto best = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());

  for (const double temperature : {0.0, 1e-30, 9e-6}) {
    for (const double top_p : {0.0, 0.9, 1.0}) {
      for (const int top_k : {0, 1, 50}) {
        for (const double min_p : {0.0, 1.0}) {
          const SamplingParams params{
              .temperature = temperature, .top_p = top_p, .top_k = top_k, .min_p = min_p};
          EXPECT_EQ(sample_one(row, params, 0.99), best);
        }
      }
    }
  }
}

TEST(SamplerTest, CutsToOneTokenAreArgmax) {
  const std::vector<float> row = random_row(151665, 4);
  const auto best = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());

  EXPECT_EQ(sample_one(row, {.top_k = 1}, 0.999), best);
  EXPECT_EQ(sample_one(row, {.top_p = 0}, 0.999), best);
  EXPECT_EQ(sample_one(row, {.min_p = 1}, 0.999), best);
}

TEST(SamplerTest, ArgmaxTiesGoToTheLowestId) {
  EXPECT_EQ(sample_one({1, 3, 2, 3, 3}, {.temperature = 0}, 0.9), 1);
}

TEST(SamplerTest, TopKKeepsTheBestAndBreaksTiesByLowerId) {
  EXPECT_THAT(drawn({1, 2, 2, 2, 0}, {.top_k = 2}), UnorderedElementsAre(1, 2));
  EXPECT_THAT(drawn({1, 2, 2, 2, 0}, {.top_k = 99}), UnorderedElementsAre(0, 1, 2, 3, 4));
}

TEST(SamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
  const auto row = logits_of({0.1, 0.4, 0.2, 0.3});

  EXPECT_THAT(drawn(row, {.top_p = 0.39}), UnorderedElementsAre(1));
  EXPECT_THAT(drawn(row, {.top_p = 0.41}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn(row, {.top_p = 0.69}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn(row, {.top_p = 0.71}), UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(drawn(row, {.top_p = 0.95}), UnorderedElementsAre(0, 1, 2, 3));
}

TEST(SamplerTest, TopPMeasuresTheMassThatTopKLeft) {
  const auto row = logits_of({0.1, 0.4, 0.2, 0.3});

  // Of 0.4 and 0.3 the first has 57 % of the mass.
  EXPECT_THAT(drawn(row, {.top_p = 0.55, .top_k = 2}), UnorderedElementsAre(1));
  EXPECT_THAT(drawn(row, {.top_p = 0.6, .top_k = 2}), UnorderedElementsAre(1, 3));
}

TEST(SamplerTest, MinPIsRelativeToTheBestToken) {
  const auto row = logits_of({0.1, 0.4, 0.2, 0.3});

  EXPECT_THAT(drawn(row, {.min_p = 0.6}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn(row, {.min_p = 0.4}), UnorderedElementsAre(1, 2, 3));
}

TEST(SamplerTest, NucleusOfALargeRowEqualsSorting) {
  const std::vector<float> row = random_row(5000, 5, 1.5F);
  for (const double top_p : {0.05, 0.5, 0.9, 0.999}) {
    std::vector<double> probabilities;
    double total = 0;
    for (const float logit : row) total += std::exp(static_cast<double>(logit));
    for (const float logit : row) {
      probabilities.push_back(std::exp(static_cast<double>(logit)) / total);
    }
    std::sort(probabilities.rbegin(), probabilities.rend());
    double mass = 0;
    std::size_t kept = 0;
    while (mass < top_p) mass += probabilities[kept++];
    const double lowest = probabilities[kept - 1] * total;

    // Numbers close to 0 and 1 reach both ends of the kept set.
    Sampler sampler;
    double rarest = 1e9;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto id = sampler.sample(row, {.top_p = top_p}, RandomStream(2, 0).uniform(i));
      rarest = std::min(rarest, std::exp(static_cast<double>(row[index_of(*id)])));
    }
    EXPECT_GE(rarest, lowest * (1 - 1e-4)) << top_p;
  }
}

TEST(SamplerTest, DrawsFollowTheDistributionAtTheTemperature) {
  const auto row = logits_of({0.1, 0.4, 0.2, 0.3});
  constexpr int kDraws = 20000;

  for (const bool cut : {false, true}) {
    // Squares of the probabilities, normalised, are those at temperature 0.5.
    const SamplingParams params{.temperature = 0.5, .top_p = cut ? 0.9999999 : 1.0};
    Sampler sampler;
    std::vector<int> counts(4);
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      ++counts[index_of(*sampler.sample(row, params, RandomStream(3, 0).uniform(i)))];
    }
    // Five standard deviations of a share are at most 5 · sqrt(0.25 / 20 000) = 0.018.
    const std::vector<double> expected{0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(counts[i]) / kDraws, expected[i], 0.018) << i;
    }
  }
}

TEST(SamplerTest, MaskedTokensAreNeverDrawn) {
  const float masked = -std::numeric_limits<float>::infinity();
  const std::vector<float> row{masked, 0, masked, 0, masked};

  EXPECT_THAT(drawn(row, {}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn(row, {.top_p = 0.99}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn(row, {.top_k = 4}), UnorderedElementsAre(1, 3));
  EXPECT_EQ(sample_one(row, {}, 0), 1);
  EXPECT_EQ(sample_one(row, {}, 1 - 0x1.0p-53), 3);
}

TEST(SamplerTest, WorkingMemoryDoesNotChangeTheResult) {
  Sampler used;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::vector<float> row = random_row(1000 + 700 * i, i);
    const SamplingParams params{.top_p = 0.8, .top_k = i % 2 == 0 ? 40 : -1};
    EXPECT_EQ(*used.sample(row, params, 0.7), *Sampler().sample(row, params, 0.7));
  }
}

TEST(SamplerTest, RowWithoutFiniteLogitsIsAnError) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();

  for (const float value : {nan, inf, -inf}) {
    const auto token = Sampler().sample(std::vector<float>(50, value), {}, 0.5);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().code, ErrorCode::kEngineError);
  }
}

TEST(SamplerTest, NotANumberAmongLogitsIsNeverDrawn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();

  EXPECT_THAT(drawn({nan, 0, nan, 0}, {}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn({nan, 0, nan, 0}, {.top_p = 0.99}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(drawn({nan, 0, nan, 0}, {.top_k = 3}), UnorderedElementsAre(1, 3));
}

}  // namespace
}  // namespace paceline
