#include "model/quantized_rows.h"

#include <algorithm>

#include "base/check.h"
#include "model/quantized_matrix.h"

namespace paceline {
namespace {

constexpr int kBlockRows = 16;
constexpr int kTileColumns = 64;

int num_tiles(int columns) { return (columns + kTileColumns - 1) / kTileColumns; }

}  // namespace

QuantizedRows::QuantizedRows(int max_rows, int max_columns) : max_rows_(max_rows) {
  CHECK(max_rows > 0 && max_columns > 0 && max_columns <= kMaxLinearColumns);
  const auto rows = static_cast<std::size_t>(max_rows);
  const std::size_t size = rows * static_cast<std::size_t>(num_tiles(max_columns)) * kTileColumns;
  values_ = AlignedBuffer<std::uint8_t>(size, size >= kHugePageBytes / 4 ? kHugePageBytes : 64);
  scales_ = AlignedBuffer<float>(rows);
}

void QuantizedRows::reset(int num_rows, int num_columns) {
  CHECK(num_rows > 0 && num_rows <= max_rows_ && num_columns > 0);
  num_rows_ = num_rows;
  num_columns_ = num_columns;
  num_k_tiles_ = num_tiles(num_columns);
  block_ = hadamard_block(num_columns);
  CHECK(static_cast<std::size_t>(num_rows) * static_cast<std::size_t>(num_k_tiles_) *
            kTileColumns <=
        values_.size());
}

void QuantizedRows::quantize_row(const KernelTable& kernels, int row, float* x) {
  DCHECK(row >= 0 && row < num_rows_);
  const int in_block = row % kBlockRows;
  const int block_start = row - in_block;
  const int block_height = std::min(kBlockRows, num_rows_ - block_start);
  std::uint8_t* block = values_.data() + static_cast<std::size_t>(block_start) *
                                             static_cast<std::size_t>(num_k_tiles_) * kTileColumns;
  scales_[static_cast<std::size_t>(row)] = kernels.quantize_row(
      x, num_columns_, block_, block + static_cast<std::size_t>(in_block) * kTileColumns,
      static_cast<std::size_t>(block_height) * kTileColumns);
}

}  // namespace paceline
