#include "model/quantized_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/model/kernel_test_support.h"

namespace paceline {
namespace {

class QuantizedMatrixTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Isas, QuantizedMatrixTest, all_isas(), isa_name);

template <typename T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(HadamardBlockTest, IsTheLargestPowerOfTwoUpTo128ThatDivides) {
  EXPECT_EQ(hadamard_block(1), 1);
  EXPECT_EQ(hadamard_block(7), 1);
  EXPECT_EQ(hadamard_block(64), 64);
  EXPECT_EQ(hadamard_block(96), 32);
  EXPECT_EQ(hadamard_block(896), 128);
  EXPECT_EQ(hadamard_block(4864), 128);
  EXPECT_EQ(hadamard_block(4096), 128);
}

TEST_P(QuantizedMatrixTest, PackingHasTheBitsOfTheReference) {
  for (const int columns : {1, 6, 64, 130, 896}) {
    const int rows = 21;
    const auto weights = random_values(static_cast<std::size_t>(rows * columns), 1);
    QuantizedMatrix expected = QuantizedMatrix::allocate(rows, columns, false);
    QuantizedMatrix actual = QuantizedMatrix::allocate(rows, columns, false);

    expected.pack_rows(reference(), 0, rows, weights);
    actual.pack_rows(kernels(), 0, rows, weights);

    EXPECT_EQ(copy_of(actual.parts().values), copy_of(expected.parts().values));
    EXPECT_EQ(bits_of(actual.parts().scales), bits_of(expected.parts().scales));
    EXPECT_EQ(copy_of(actual.parts().row_sums), copy_of(expected.parts().row_sums));
  }
}

TEST_P(QuantizedMatrixTest, DequantizedRowsHaveTheBitsOfTheReference) {
  const int rows = 19;
  for (const int columns : {5, 64, 96, 896}) {
    QuantizedMatrix matrix = QuantizedMatrix::allocate(rows, columns, false);
    matrix.pack_rows(reference(), 0, rows,
                     random_values(static_cast<std::size_t>(rows * columns), 2));
    std::vector<float> expected(static_cast<std::size_t>(columns));
    std::vector<float> actual(static_cast<std::size_t>(columns));

    for (int row = 0; row < rows; ++row) {
      matrix.dequantize_row(reference(), row, expected);
      matrix.dequantize_row(kernels(), row, actual);

      EXPECT_EQ(bits_of(actual), bits_of(expected)) << "row " << row << ", columns " << columns;
    }
  }
}

TEST(QuantizedMatrixLayoutTest, ValuesStandWhereTheHeaderDrawsThem) {
  // 63 columns: block 1, so values are not rotated, and one column of padding.
  const int rows = 18;
  const int columns = 63;
  std::vector<float> weights(static_cast<std::size_t>(rows * columns), 0.0F);
  weights[0] = 127.0F;
  weights[17 * columns + 0] = 127.0F;
  weights[17 * columns + 62] = -31.0F;
  QuantizedMatrix matrix = QuantizedMatrix::allocate(rows, columns, false);

  matrix.pack_rows(kernels_for(Isa::kScalar), 0, rows, weights);

  const auto values = matrix.parts().values;
  EXPECT_EQ(values.size(), 2U * 1024U);
  EXPECT_EQ(values[0], 127);                       // group 0, line 0, output 0, k 0
  EXPECT_EQ(values[1024 + 4], 127);                // group 1, line 0, output 1, k 0
  EXPECT_EQ(values[1024 + 15 * 64 + 4 + 2], -31);  // group 1, line 15, output 1, k 62
  EXPECT_EQ(std::count(values.begin(), values.end(), 0), 2 * 1024 - 3);
  EXPECT_EQ(matrix.parts().row_sums[17], 96);
  EXPECT_EQ(matrix.parts().scales[17], 1.0F);
  EXPECT_EQ(matrix.parts().scales[1], 0.0F);
  EXPECT_EQ(matrix.parts().scales.size(), 32U);
}

TEST(QuantizedMatrixLayoutTest, RowsPackedInPiecesEqualRowsPackedAtOnce) {
  const int rows = 40;
  const int columns = 96;
  const auto weights = random_values(static_cast<std::size_t>(rows * columns), 3);
  const KernelTable& kernels = kernels_for(detect_isa());
  QuantizedMatrix whole = QuantizedMatrix::allocate(rows, columns, false);
  QuantizedMatrix pieces = QuantizedMatrix::allocate(rows, columns, false);

  whole.pack_rows(kernels, 0, rows, weights);
  for (const auto& [first, count] : {std::pair{23, 17}, {0, 1}, {1, 22}}) {
    pieces.pack_rows(kernels, first, count,
                     std::span(weights).subspan(static_cast<std::size_t>(first * columns),
                                                static_cast<std::size_t>(count * columns)));
  }

  EXPECT_EQ(copy_of(pieces.parts().values), copy_of(whole.parts().values));
  EXPECT_EQ(copy_of(pieces.parts().scales), copy_of(whole.parts().scales));
}

TEST(QuantizedMatrixLayoutTest, DequantizedRowIsTheRowWithinHalfAStep) {
  const int columns = 256;
  const auto weights = random_values(columns, 4);
  QuantizedMatrix matrix = QuantizedMatrix::allocate(1, columns, false);
  const KernelTable& kernels = kernels_for(Isa::kScalar);
  matrix.pack_rows(kernels, 0, 1, weights);
  std::vector<float> row(columns);

  matrix.dequantize_row(kernels, 0, row);

  // Undoing the rotation keeps lengths: the squared error is that of 256 roundings of half a step
  // at most. scale · block is a step of the unnormalised transform, scale · sqrt(block) of the
  // normalised one.
  const double step = static_cast<double>(matrix.parts().scales[0]) * std::sqrt(128.0);
  double squared_error = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    squared_error += std::pow(static_cast<double>(row[i]) - static_cast<double>(weights[i]), 2);
  }
  EXPECT_LT(squared_error, columns * step * step / 4);
  EXPECT_GT(squared_error, 0);
}

TEST(QuantizedMatrixViewTest, ViewOfThePartsEqualsTheMatrix) {
  const int rows = 20;
  const int columns = 70;
  QuantizedMatrix matrix = QuantizedMatrix::allocate(rows, columns, true);
  matrix.pack_rows(kernels_for(Isa::kScalar), 0, rows,
                   random_values(static_cast<std::size_t>(rows * columns), 5));

  const auto view = QuantizedMatrix::view(rows, columns, matrix.parts());

  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->parts().values.data(), matrix.parts().values.data());
  EXPECT_EQ(view->size_bytes(), matrix.size_bytes());
  EXPECT_EQ(view->block(), 2);
}

TEST(QuantizedMatrixViewTest, PartsThatDoNotFitAreRefused) {
  const QuantizedMatrix matrix = QuantizedMatrix::allocate(20, 70, true);
  const QuantizedMatrix::Parts good = matrix.parts();
  QuantizedMatrix::Parts short_values = good;
  short_values.values = good.values.first(good.values.size() - 1);
  QuantizedMatrix::Parts shifted = good;
  shifted.values = {good.values.data() + 1, good.values.size()};
  QuantizedMatrix::Parts short_bias = good;
  short_bias.bias = good.bias.first(1);

  for (const auto& parts : {short_values, shifted, short_bias}) {
    const auto view = QuantizedMatrix::view(20, 70, parts);
    ASSERT_FALSE(view.has_value());
    EXPECT_EQ(view.error().code, ErrorCode::kBadFile);
  }
  EXPECT_FALSE(QuantizedMatrix::view(0, 70, good).has_value());
  EXPECT_FALSE(QuantizedMatrix::view(20, -1, good).has_value());
  EXPECT_FALSE(QuantizedMatrix::view(20, kMaxLinearColumns + 1, good).has_value());
  EXPECT_FALSE(QuantizedMatrix::view(40, 70, good).has_value());
}

}  // namespace
}  // namespace paceline
