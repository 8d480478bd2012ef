#include "model/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/model/kernel_test_support.h"

namespace paceline {
namespace {

/// A layer with random weights and bias, packed.
QuantizedMatrix make_matrix(int rows, int columns, bool has_bias, std::uint32_t seed) {
  QuantizedMatrix matrix = QuantizedMatrix::allocate(rows, columns, has_bias);
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  matrix.pack_rows(kernels_for(Isa::kScalar), 0, rows, random_values(size, seed));
  if (has_bias) matrix.set_bias(0, random_values(static_cast<std::size_t>(rows), seed + 1));
  return matrix;
}

QuantizedRows make_rows(std::vector<float> x, int num_rows, int columns) {
  QuantizedRows rows(num_rows, columns);
  rows.reset(num_rows, columns);
  for (int r = 0; r < num_rows; ++r) {
    rows.quantize_row(kernels_for(Isa::kScalar), r,
                      x.data() + static_cast<std::ptrdiff_t>(r) * columns);
  }
  return rows;
}

constexpr float kUntouched = -12345.0F;

/// Runs one layer into rows of `ldy` floats, one float past an aligned address; what the layer does
/// not write stays kUntouched.
std::vector<float> run(const KernelTable& kernels, const QuantizedRows& x, const QuantizedMatrix& w,
                       int ldy, int num_threads = 1) {
  ThreadPool team(num_threads);
  std::vector<float> y(static_cast<std::size_t>(x.num_rows() * ldy) + 1, kUntouched);
  linear_int8(team, kernels, x, w, y.data() + 1, static_cast<std::size_t>(ldy));
  return y;
}

class LinearTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Isas, LinearTest, all_isas(), isa_name);

TEST_P(LinearTest, EveryNumberOfRowsHasTheBitsOfTheReference) {
  const int columns = 192;
  const int outputs = 83;
  const QuantizedMatrix w = make_matrix(outputs, columns, true, 1);
  for (int num_rows = 1; num_rows <= 70; ++num_rows) {
    const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 2);
    const QuantizedRows x = make_rows(values, num_rows, columns);

    const auto actual = run(kernels(), x, w, outputs + 3);

    EXPECT_EQ(bits_of(actual), bits_of(run(reference(), x, w, outputs + 3))) << "M " << num_rows;
  }
}

TEST_P(LinearTest, OddWidthsAndHeightsHaveTheBitsOfTheReference) {
  for (const int columns : {1, 2, 5, 63, 64, 65, 96, 130, 896}) {
    for (const int outputs : {1, 7, 15, 16, 17, 31, 32, 33, 48, 65, 100}) {
      const QuantizedMatrix w = make_matrix(outputs, columns, outputs % 2 == 0, 3);
      for (const int num_rows : {1, 3, 16, 33}) {
        const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 4);
        const QuantizedRows x = make_rows(values, num_rows, columns);

        const auto actual = run(kernels(), x, w, outputs);

        EXPECT_EQ(bits_of(actual), bits_of(run(reference(), x, w, outputs)))
            << "M " << num_rows << ", N " << outputs << ", K " << columns;
      }
    }
  }
}

TEST_P(LinearTest, WideLayersHaveTheBitsOfTheReference) {
  const int columns = 4864;
  const int outputs = 70;
  const QuantizedMatrix w = make_matrix(outputs, columns, false, 5);
  for (const int num_rows : {1, 5, 37, 64}) {
    const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 6);
    const QuantizedRows x = make_rows(values, num_rows, columns);

    const auto actual = run(kernels(), x, w, outputs);

    EXPECT_EQ(bits_of(actual), bits_of(run(reference(), x, w, outputs))) << "M " << num_rows;
  }
}

TEST_P(LinearTest, ARowAloneHasTheBitsItHasAmongOthers) {
  const int columns = 896;
  const int outputs = 100;
  const int num_rows = 45;
  const QuantizedMatrix w = make_matrix(outputs, columns, true, 7);
  const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 8);
  const auto together = run(kernels(), make_rows(values, num_rows, columns), w, outputs);

  for (int row = 0; row < num_rows; ++row) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row) * columns;
    const auto alone = run(kernels(), make_rows({first, first + columns}, 1, columns), w, outputs);

    const auto begin = together.begin() + 1 + static_cast<std::ptrdiff_t>(row) * outputs;
    EXPECT_EQ(bits_of(std::vector<float>(alone.begin() + 1, alone.end())),
              bits_of(std::vector<float>(begin, begin + outputs)))
        << "row " << row;
  }
}

TEST_P(LinearTest, TheTeamsSizeChangesNothing) {
  const int columns = 128;
  const int outputs = 1000;
  const QuantizedMatrix w = make_matrix(outputs, columns, true, 9);
  for (const int num_rows : {1, 20, 40}) {
    const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 10);
    const QuantizedRows x = make_rows(values, num_rows, columns);
    const auto expected = bits_of(run(reference(), x, w, outputs));

    for (const int num_threads : {1, 2, 3}) {
      EXPECT_EQ(bits_of(run(kernels(), x, w, outputs, num_threads)), expected)
          << "M " << num_rows << ", " << num_threads << " threads";
    }
  }
}

// 320 rows of 4864 bytes are more than stays in a second-level cache: the layer is cut by rows too.
TEST_P(LinearTest, RowsInSeveralChunksHaveTheBitsTheyHaveAlone) {
  const int columns = 4864;
  const int outputs = 19;
  const int num_rows = 325;
  const QuantizedMatrix w = make_matrix(outputs, columns, true, 16);
  const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 17);
  const QuantizedRows x = make_rows(values, num_rows, columns);

  const auto together = run(kernels(), x, w, outputs, 2);

  for (const int row : {0, 15, 16, 163, 164, 175, 176, 191, 192, 323, 324}) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row) * columns;
    const auto alone =
        run(reference(), make_rows({first, first + columns}, 1, columns), w, outputs);
    const auto begin = together.begin() + 1 + static_cast<std::ptrdiff_t>(row) * outputs;
    EXPECT_EQ(bits_of(std::vector<float>(begin, begin + outputs)),
              bits_of(std::vector<float>(alone.begin() + 1, alone.end())))
        << "row " << row;
  }
}

// Rows of 64 KiB at an aligned address: the result passes the bound from which it is written past
// the caches, though few of its values are.
TEST_P(LinearTest, LargeAlignedResultsHaveTheBitsOfTheReference) {
  const int columns = 96;
  const int outputs = 83;
  const std::size_t ldy = 16384;
  const QuantizedMatrix w = make_matrix(outputs, columns, true, 18);
  for (const int num_rows : {64, 75}) {
    const auto values = random_values(static_cast<std::size_t>(num_rows * columns), 19);
    const QuantizedRows x = make_rows(values, num_rows, columns);
    AlignedBuffer<float> y(static_cast<std::size_t>(num_rows) * ldy);
    ThreadPool team(2);

    linear_int8(team, kernels(), x, w, y.data(), ldy);

    const auto expected = run(reference(), x, w, outputs);
    for (int row = 0; row < num_rows; ++row) {
      const auto actual = y.span().subspan(static_cast<std::size_t>(row) * ldy, outputs);
      EXPECT_EQ(bits_of(actual), bits_of(std::span(expected).subspan(
                                     static_cast<std::size_t>(1 + row * outputs), outputs)))
          << "M " << num_rows << ", row " << row;
      EXPECT_EQ(y[static_cast<std::size_t>(row) * ldy + outputs], 0.0F);
    }
  }
}

TEST_P(LinearTest, TheLargestValuesDoNotSaturate) {
  const int num_k_tiles = 76;
  const int num_rows = 18;
  const auto depth = static_cast<std::size_t>(num_k_tiles) * 64;
  for (const int activation : {127, -127}) {
    for (const int weight : {127, -127}) {
      const std::vector<std::uint8_t> activations(static_cast<std::size_t>(num_rows) * depth,
                                                  static_cast<std::uint8_t>(activation + 128));
      const std::vector<std::int8_t> weights(16 * depth, static_cast<std::int8_t>(weight));
      const std::vector<std::int32_t> sums(16, weight * static_cast<std::int32_t>(depth));
      const std::vector<float> ones(static_cast<std::size_t>(num_rows), 1.0F);
      std::vector<float> y(static_cast<std::size_t>(num_rows) * 16);
      const LinearArgs args = {activations.data(),
                               ones.data(),
                               num_rows,
                               num_k_tiles,
                               weights.data(),
                               ones.data(),
                               sums.data(),
                               nullptr,
                               16,
                               y.data(),
                               16};

      kernels().linear_int8(args, 0, 1);

      const auto expected = static_cast<float>(activation * weight * static_cast<int>(depth));
      EXPECT_EQ(y, std::vector<float>(y.size(), expected)) << activation << " x " << weight;
    }
  }
}

TEST_P(LinearTest, ARowWithANonFiniteInputShowsItAndLeavesItsNeighboursAlone) {
  const int columns = 64;
  const int outputs = 20;
  const QuantizedMatrix w = make_matrix(outputs, columns, false, 11);
  auto values = random_values(std::size_t{3} * columns, 12);
  const auto clean = run(kernels(), make_rows(values, 3, columns), w, outputs);
  values[columns + 5] = INFINITY;

  const auto y = run(kernels(), make_rows(values, 3, columns), w, outputs);

  const auto row = [&](const std::vector<float>& v, int r) {
    return std::vector<float>(v.begin() + 1 + r * outputs, v.begin() + 1 + (r + 1) * outputs);
  };
  const auto bad = row(y, 1);
  EXPECT_TRUE(std::all_of(bad.begin(), bad.end(), [](float v) { return std::isnan(v); }));
  EXPECT_EQ(bits_of(row(y, 0)), bits_of(row(clean, 0)));
  EXPECT_EQ(bits_of(row(y, 2)), bits_of(row(clean, 2)));
}

// Rotation and scales in one: the layer is the float layer within the error of its quantisation.
TEST(LinearAccuracyTest, ResultIsTheFloatProductWithinTheQuantisationError) {
  const int columns = 896;
  const int outputs = 33;
  const int num_rows = 4;
  const auto weights = random_values(static_cast<std::size_t>(outputs * columns), 13);
  const auto bias = random_values(outputs, 14);
  const auto x = random_values(static_cast<std::size_t>(num_rows * columns), 15);
  QuantizedMatrix w = QuantizedMatrix::allocate(outputs, columns, true);
  w.pack_rows(kernels_for(Isa::kScalar), 0, outputs, weights);
  w.set_bias(0, bias);

  const auto y = run(kernels_for(Isa::kScalar), make_rows(x, num_rows, columns), w, outputs);

  for (int m = 0; m < num_rows; ++m) {
    for (int o = 0; o < outputs; ++o) {
      const float* a = x.data() + static_cast<std::ptrdiff_t>(m) * columns;
      const float* b = weights.data() + static_cast<std::ptrdiff_t>(o) * columns;
      double expected = bias[static_cast<std::size_t>(o)];
      double norm_a = 0;
      double norm_b = 0;
      for (int k = 0; k < columns; ++k) {
        expected += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        norm_a += static_cast<double>(a[k]) * static_cast<double>(a[k]);
        norm_b += static_cast<double>(b[k]) * static_cast<double>(b[k]);
      }
      // Rotated values are near normal with the row's deviation s; their largest of 896 is below
      // 6 s, so a step is 6 s / 127 and its rounding error has deviation 0.29 of that: 0.0137 s.
      // Both sides together give 0.0194 · |a| |b| / sqrt(K) per output; six deviations bound it.
      const double bound = 6 * 0.0194 * std::sqrt(norm_a * norm_b / columns);
      EXPECT_NEAR(y[static_cast<std::size_t>(1 + m * outputs + o)], expected, bound)
          << "row " << m << ", output " << o;
    }
  }
}

}  // namespace
}  // namespace paceline
