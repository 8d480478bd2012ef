#include "model/quantized_matrix.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"

namespace paceline {
namespace {

constexpr int kGroupRows = 16;
constexpr int kTileColumns = 64;
constexpr int kLineColumns = 4;
constexpr std::size_t kTileBytes = std::size_t{kGroupRows} * kTileColumns;

std::size_t padded(int rows) {
  return static_cast<std::size_t>((rows + kGroupRows - 1) / kGroupRows) * kGroupRows;
}

}  // namespace

int hadamard_block(int columns) {
  CHECK(columns > 0);
  return std::min(columns & -columns, 128);
}

std::size_t QuantizedMatrix::values_size(int rows, int columns) {
  CHECK(rows > 0 && columns > 0);
  const auto num_tiles = static_cast<std::size_t>((columns + kTileColumns - 1) / kTileColumns);
  return padded(rows) * num_tiles * kTileColumns;
}

QuantizedMatrix QuantizedMatrix::allocate(int rows, int columns, bool has_bias) {
  CHECK(rows > 0 && columns > 0 && columns <= kMaxLinearColumns);
  QuantizedMatrix m;
  m.rows_ = rows;
  m.columns_ = columns;
  m.block_ = hadamard_block(columns);
  const std::size_t size = values_size(rows, columns);
  m.own_values_ = AlignedBuffer<std::int8_t>(size, size >= kHugePageBytes ? kHugePageBytes : 64);
  m.own_scales_ = AlignedBuffer<float>(padded(rows));
  m.own_row_sums_ = AlignedBuffer<std::int32_t>(padded(rows));
  if (has_bias) m.own_bias_ = AlignedBuffer<float>(padded(rows));
  m.parts_ = {m.own_values_.span(), m.own_scales_.span(), m.own_row_sums_.span(),
              m.own_bias_.span()};
  return m;
}

Result<QuantizedMatrix> QuantizedMatrix::view(int rows, int columns, const Parts& parts) {
  if (rows <= 0 || columns <= 0 || columns > kMaxLinearColumns) {
    return fail(ErrorCode::kBadFile, "packed matrix has an impossible shape " +
                                         std::to_string(rows) + " x " + std::to_string(columns));
  }
  const std::size_t num_rows = padded(rows);
  if (parts.values.size() != values_size(rows, columns) || parts.scales.size() != num_rows ||
      parts.row_sums.size() != num_rows || (!parts.bias.empty() && parts.bias.size() != num_rows)) {
    return fail(ErrorCode::kBadFile, "packed matrix of " + std::to_string(rows) + " x " +
                                         std::to_string(columns) + " has a part of wrong size");
  }
  if (reinterpret_cast<std::uintptr_t>(parts.values.data()) % 64 != 0) {
    return fail(ErrorCode::kBadFile, "packed matrix is not aligned to 64 bytes");
  }
  QuantizedMatrix m;
  m.rows_ = rows;
  m.columns_ = columns;
  m.block_ = hadamard_block(columns);
  m.parts_ = parts;
  return m;
}

void QuantizedMatrix::pack_rows(const KernelTable& kernels, int first_row, int num_rows,
                                std::span<const float> weights) {
  const auto columns = static_cast<std::size_t>(columns_);
  CHECK(own_values_.size() != 0 && first_row >= 0 && num_rows >= 0 &&
        first_row + num_rows <= rows_);
  CHECK(weights.size() == static_cast<std::size_t>(num_rows) * columns);
  const auto num_tiles = static_cast<std::size_t>(num_k_tiles());
  std::vector<float> rotated(columns);
  std::vector<std::uint8_t> quantized(num_tiles * kTileColumns);
  for (int i = 0; i < num_rows; ++i) {
    const auto row = static_cast<std::size_t>(first_row + i);
    const float* source = weights.data() + static_cast<std::size_t>(i) * columns;
    std::copy_n(source, columns, rotated.begin());
    const float scale =
        kernels.quantize_row(rotated.data(), columns_, block_, quantized.data(), kTileColumns);
    std::int8_t* out = own_values_.data() + row / kGroupRows * num_tiles * kTileBytes +
                       row % kGroupRows * kLineColumns;
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < quantized.size(); k += kLineColumns, out += 64) {
      for (std::size_t j = 0; j < kLineColumns; ++j) {
        const int value = quantized[k + j] - 128;
        out[j] = static_cast<std::int8_t>(value);
        sum += value;
      }
    }
    own_scales_[row] = scale / static_cast<float>(block_);
    own_row_sums_[row] = sum;
  }
}

void QuantizedMatrix::set_bias(int first_row, std::span<const float> bias) {
  CHECK(first_row >= 0 && own_bias_.size() != 0 &&
        static_cast<std::size_t>(first_row) + bias.size() <= static_cast<std::size_t>(rows_));
  std::copy(bias.begin(), bias.end(), own_bias_.data() + first_row);
}

void QuantizedMatrix::dequantize_row(const KernelTable& kernels, int row,
                                     std::span<float> out) const {
  DCHECK(row >= 0 && row < rows_ && out.size() == static_cast<std::size_t>(columns_));
  const auto index = static_cast<std::size_t>(row);
  const std::int8_t* line =
      parts_.values.data() +
      index / kGroupRows * static_cast<std::size_t>(num_k_tiles()) * kTileBytes +
      index % kGroupRows * kLineColumns;
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = line[k / kLineColumns * 64 + k % kLineColumns];
  }
  // The values are whole numbers, so the transform (sums of up to 128 of them) is exact.
  kernels.hadamard(out.data(), columns_, block_);
  for (float& value : out) value *= parts_.scales[index];
}

std::size_t QuantizedMatrix::size_bytes() const {
  return parts_.values.size_bytes() + parts_.scales.size_bytes() + parts_.row_sums.size_bytes() +
         parts_.bias.size_bytes();
}

}  // namespace paceline
