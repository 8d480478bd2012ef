#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "model/kernels/kernels.h"

namespace paceline {

/// Inputs of linear layers, quantised: one scale per row, values as u8 = int8 + 128, in the order
/// in which kernels read them. Owned by the model's step buffers and reused from layer to layer;
/// `reset` is called by one thread, `quantize_row` by any thread for different rows.
///
/// Layout, R rows, K padded to 64: blocks of 16 rows, the last one as tall as what is left; inside
/// a block, K tiles one after the other, each [rows of the block][64]. A block's K tile is thus one
/// AMX A tile in contiguous memory:
///
///   block 0 (16 rows)              block 1 (R - 16 rows)
///   | k 0…63   | k 64…127 | …      | k 0…63   | …
///   | r0 … r15 | r0 … r15 |        | r16 …    |       each row piece is 64 bytes
class QuantizedRows {
 public:
  QuantizedRows() = default;
  /// Allocates for any shape within max_rows × max_columns. Requires: both > 0.
  QuantizedRows(int max_rows, int max_columns);

  /// Sets the shape; earlier contents are void. No allocation. Requires: within the maximum.
  void reset(int num_rows, int num_columns);

  /// Rotates x in place and quantises it as row `row`. Shapes: x: [num_columns]. Any thread,
  /// different rows.
  void quantize_row(const KernelTable& kernels, int row, float* x);

  [[nodiscard]] int num_rows() const { return num_rows_; }
  [[nodiscard]] int num_columns() const { return num_columns_; }
  [[nodiscard]] int num_k_tiles() const { return num_k_tiles_; }
  [[nodiscard]] const std::uint8_t* values() const { return values_.data(); }
  [[nodiscard]] const float* scales() const { return scales_.data(); }

 private:
  AlignedBuffer<std::uint8_t> values_;
  AlignedBuffer<float> scales_;
  int max_rows_ = 0;
  int num_rows_ = 0;
  int num_columns_ = 0;
  int num_k_tiles_ = 0;
  int block_ = 1;
};

}  // namespace paceline
