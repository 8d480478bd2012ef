#include "model/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/model/kernel_test_support.h"

namespace paceline {
namespace {

/// Every remainder of 16, and the widths of the models.
std::vector<int> all_lengths() {
  std::vector<int> lengths;
  for (int n = 1; n <= 50; ++n) lengths.push_back(n);
  lengths.insert(lengths.end(), {64, 127, 128, 896, 4864});
  return lengths;
}

/// Values at an address that is `offset` floats past an aligned one.
struct Shifted {
  Shifted(int n, int offset, std::uint32_t seed)
      : values(random_values(static_cast<std::size_t>(n + offset), seed)), begin(offset) {}
  float* data() { return values.data() + begin; }
  std::vector<float> values;
  int begin;
};

class ElementwiseTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Isas, ElementwiseTest, all_isas(), isa_name);

TEST_P(ElementwiseTest, RmsNormHasTheBitsOfTheReference) {
  for (const int n : all_lengths()) {
    for (const int offset : {0, 1, 3}) {
      Shifted x(n, offset, 1);
      Shifted weight(n, offset, 2);
      std::vector<float> expected(static_cast<std::size_t>(n) + 1, 7.0F);
      std::vector<float> actual = expected;

      reference().rms_norm(x.data(), weight.data(), n, 1e-6F, expected.data());
      kernels().rms_norm(x.data(), weight.data(), n, 1e-6F, actual.data());

      EXPECT_EQ(bits_of(actual), bits_of(expected)) << "n " << n << ", offset " << offset;
      EXPECT_EQ(actual.back(), 7.0F) << "n " << n;
    }
  }
}

TEST_P(ElementwiseTest, AddHasTheBitsOfTheReference) {
  for (const int n : all_lengths()) {
    Shifted expected(n, 1, 3);
    Shifted actual(n, 1, 3);
    Shifted delta(n, 2, 4);

    reference().add(expected.data(), delta.data(), n);
    kernels().add(actual.data(), delta.data(), n);

    EXPECT_EQ(bits_of(actual.values), bits_of(expected.values)) << "n " << n;
  }
}

TEST_P(ElementwiseTest, SwigluHasTheBitsOfTheReference) {
  for (const int n : all_lengths()) {
    Shifted gate(n, 1, 5);
    Shifted up(n, 0, 6);
    std::vector<float> expected(static_cast<std::size_t>(n) + 1, 7.0F);
    std::vector<float> actual = expected;

    reference().swiglu(gate.data(), up.data(), n, expected.data());
    kernels().swiglu(gate.data(), up.data(), n, actual.data());

    EXPECT_EQ(bits_of(actual), bits_of(expected)) << "n " << n;
  }
}

TEST_P(ElementwiseTest, SwigluStaysFiniteAtTheEndsOfTheRange) {
  std::vector<float> gate = {-3e38F, -1000.0F, -100.0F, -88.0F, 0.0F, 88.0F, 1000.0F, 3e38F};
  const std::vector<float> up(gate.size(), 1.0F);
  const std::vector<float> expected_large = {88.0F, 1000.0F, 3e38F};

  kernels().swiglu(gate.data(), up.data(), static_cast<int>(gate.size()), gate.data());

  EXPECT_TRUE(std::all_of(gate.begin(), gate.end(), [](float y) { return std::isfinite(y); }));
  EXPECT_EQ(gate[4], 0.0F);
  EXPECT_EQ(std::vector<float>(gate.begin() + 5, gate.end()), expected_large);
}

TEST_P(ElementwiseTest, SwigluShowsANan) {
  std::vector<float> y = {std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> up = {1.0F};

  kernels().swiglu(y.data(), up.data(), 1, y.data());

  EXPECT_TRUE(std::isnan(y[0]));
}

TEST_P(ElementwiseTest, RopeHasTheBitsOfTheReference) {
  for (const int head_dim : {2, 4, 16, 30, 34, 64, 128}) {
    const int num_heads = 3;
    Shifted expected(num_heads * head_dim, 1, 7);
    Shifted actual(num_heads * head_dim, 1, 7);
    Shifted cos(head_dim / 2, 0, 8);
    Shifted sin(head_dim / 2, 1, 9);

    reference().rope(expected.data(), num_heads, head_dim, cos.data(), sin.data());
    kernels().rope(actual.data(), num_heads, head_dim, cos.data(), sin.data());

    EXPECT_EQ(bits_of(actual.values), bits_of(expected.values)) << "head_dim " << head_dim;
  }
}

TEST_P(ElementwiseTest, HadamardHasTheBitsOfTheReference) {
  for (const int block : {1, 2, 4, 8, 16, 32, 64, 128}) {
    for (const int num_blocks : {1, 2, 3, 7}) {
      Shifted expected(block * num_blocks, 1, 10);
      Shifted actual(block * num_blocks, 1, 10);

      reference().hadamard(expected.data(), block * num_blocks, block);
      kernels().hadamard(actual.data(), block * num_blocks, block);

      EXPECT_EQ(bits_of(actual.values), bits_of(expected.values))
          << "block " << block << " x " << num_blocks;
    }
  }
}

TEST_P(ElementwiseTest, QuantizeRowHasTheBitsOfTheReference) {
  for (const int block : {1, 2, 4, 8, 16, 32, 64, 128}) {
    for (const int num_blocks : {1, 3, 7, 38}) {
      const int n = block * num_blocks;
      const std::size_t stride = 3 * 64;
      const std::size_t size = static_cast<std::size_t>((n + 63) / 64) * stride;
      Shifted expected_x(n, 1, 11);
      Shifted actual_x(n, 1, 11);
      std::vector<std::uint8_t> expected(size, 9);
      std::vector<std::uint8_t> actual(size, 9);

      const float expected_scale =
          reference().quantize_row(expected_x.data(), n, block, expected.data(), stride);
      const float actual_scale =
          kernels().quantize_row(actual_x.data(), n, block, actual.data(), stride);

      EXPECT_EQ(actual, expected) << "block " << block << " x " << num_blocks;
      EXPECT_EQ(actual_scale, expected_scale);
      EXPECT_EQ(bits_of(actual_x.values), bits_of(expected_x.values));
    }
  }
}

TEST_P(ElementwiseTest, QuantizeRowRoundsHalvesToEvenAndFillsTheTile) {
  // Block 1: no rotation; the largest value is 127, so the scale is 1.
  std::vector<float> x = {127.0F, -127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0.49F};
  std::vector<std::uint8_t> expected(64, 128);
  const std::vector<int> rounded = {127, -127, 0, 2, 2, 0, -2, 0};
  std::transform(rounded.begin(), rounded.end(), expected.begin(),
                 [](int v) { return static_cast<std::uint8_t>(v + 128); });
  std::vector<std::uint8_t> actual(64, 9);

  const float scale = kernels().quantize_row(x.data(), 8, 1, actual.data(), 64);

  EXPECT_EQ(scale, 1.0F);
  EXPECT_EQ(actual, expected);
}

TEST_P(ElementwiseTest, QuantizeRowOfZerosGivesScaleZero) {
  for (const float tiny : {0.0F, -0.0F, 1e-38F}) {
    std::vector<float> x(70, tiny);
    std::vector<std::uint8_t> q(128, 9);

    const float scale = kernels().quantize_row(x.data(), 70, 2, q.data(), 64);

    EXPECT_EQ(scale, 0.0F);
    EXPECT_EQ(q, std::vector<std::uint8_t>(128, 128));
  }
}

TEST_P(ElementwiseTest, QuantizeRowWithANonFiniteValueGivesScaleNan) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(40, 1.0F);
    x[37] = bad;
    std::vector<std::uint8_t> q(64, 9);

    const float scale = kernels().quantize_row(x.data(), 40, 8, q.data(), 64);

    EXPECT_TRUE(std::isnan(scale));
    EXPECT_EQ(q, std::vector<std::uint8_t>(64, 128));
  }
}

// The reference itself, against double precision.

TEST(ScalarKernelsTest, RmsNormIsTheFormula) {
  const int n = 896;
  const std::vector<float> x = random_values(n, 12);
  const std::vector<float> weight = random_values(n, 13);
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  const double factor = 1.0 / std::sqrt(squares / n + 1e-6);
  std::vector<float> y(n);

  kernels_for(Isa::kScalar).rms_norm(x.data(), weight.data(), n, 1e-6F, y.data());

  // 56 squares per lane and 4 sums of the tree: 60 roundings in the sum of squares, half of which
  // pass through the root, then five more operations: below 35 · 2^-24 = 2.1e-6 relative.
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double expected = static_cast<double>(x[i]) * factor * static_cast<double>(weight[i]);
    EXPECT_NEAR(y[i], expected, 2.1e-6 * std::abs(expected)) << "i " << i;
  }
}

TEST(ScalarKernelsTest, SwigluIsTheFormulaWithinItsStatedError) {
  std::vector<float> gate;
  for (float g = -87.0F; g <= 87.0F; g += 0.0137F) gate.push_back(g);
  const std::vector<float> up(gate.size(), 1.0F);
  std::vector<float> y(gate.size());

  kernels_for(Isa::kScalar).swiglu(gate.data(), up.data(), static_cast<int>(y.size()), y.data());

  for (std::size_t i = 0; i < y.size(); ++i) {
    const double g = gate[i];
    const double expected = g / (1.0 + std::exp(-g));
    EXPECT_NEAR(y[i], expected, 5e-7 * std::abs(expected)) << "gate " << g;
  }
}

TEST(ScalarKernelsTest, RopeTurnsPairsOfTheTwoHalves) {
  std::vector<float> x = {1, 2, 3, 4, 10, 20, 30, 40};
  const std::vector<float> cos = {0, 1};
  const std::vector<float> sin = {1, 0};

  kernels_for(Isa::kScalar).rope(x.data(), 2, 4, cos.data(), sin.data());

  EXPECT_EQ(x, (std::vector<float>{-3, 2, 1, 4, -30, 20, 10, 40}));
}

TEST(ScalarKernelsTest, HadamardIsTheProductWithTheSignMatrix) {
  const int block = 128;
  std::vector<float> x(block);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37) % 101) - 50.0F;
  std::vector<float> expected(block, 0.0F);
  for (unsigned row = 0; row < block; ++row) {
    for (unsigned i = 0; i < block; ++i) {
      expected[row] += (__builtin_popcount(row & i) % 2 == 0 ? 1.0F : -1.0F) * x[i];
    }
  }

  kernels_for(Isa::kScalar).hadamard(x.data(), block, block);

  EXPECT_EQ(x, expected);
}

TEST(IsaTest, EveryNameOfAnAvailableSetCanBeForced) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8}) {
    const auto chosen = choose_isa(to_string(isa));

    EXPECT_EQ(chosen.has_value(), is_available(isa)) << to_string(isa);
    EXPECT_EQ(chosen.value_or(isa), isa);
  }
}

TEST(IsaTest, NoNameMeansTheBestOne) {
  EXPECT_EQ(choose_isa("").value(), detect_isa());
  EXPECT_EQ(choose_isa("auto").value(), detect_isa());
  EXPECT_TRUE(is_available(detect_isa()));
}

TEST(IsaTest, UnknownNameIsRefusedWithTheKnownOnes) {
  const auto chosen = choose_isa("sse9");

  ASSERT_FALSE(chosen.has_value());
  EXPECT_EQ(chosen.error().code, ErrorCode::kBadConfig);
  EXPECT_NE(chosen.error().message.find("'sse9'"), std::string::npos);
  EXPECT_NE(chosen.error().message.find("avx512_vnni"), std::string::npos);
}

TEST(IsaTest, TablesCarryTheirName) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8}) {
    if (!is_available(isa)) continue;
    EXPECT_EQ(kernels_for(isa).isa, isa);
  }
}

}  // namespace
}  // namespace paceline
