#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "model/kernels/kernels.h"

namespace paceline {

/// Returns the block of the Hadamard rotation for an input width: the largest power of two up to
/// 128 that divides it. Requires: columns > 0.
[[nodiscard]] int hadamard_block(int columns);

/// Weights of one linear layer as int8 with one scale per output row, the input dimension rotated
/// by a block Hadamard (hadamard_block), in the order in which all kernels stream them. Either owns
/// its memory (allocate, then pack_rows) or views a mapped file (view). Owned by the model's
/// weights; read by any thread, `pack_rows` by any thread for different rows.
///
/// Layout: outputs padded to 16 and inputs to 64 by zeros. A group of 16 outputs is contiguous:
/// its K tiles of 64 inputs one after the other, each 1024 bytes = 16 lines of 64 bytes, and line j
/// holds inputs 4j … 4j+3 of all 16 outputs:
///
///   group g, K tile t, line j:  | o0: k k+1 k+2 k+3 | o1: k k+1 k+2 k+3 | … | o15: … |
///                                 k = 64·t + 4·j, o_i = output 16·g + i, one byte each
///
/// A line is the operand of one AVX-512 `vpdpbusd` (four `sdot` of NEON), a tile is one AMX B tile.
/// With w' = the rotated (unnormalised) weights, value = round(w' · 127 / max|w'|) and
/// scale = max|w'| / 127 / block; the division by `block` undoes both rotations' missing
/// normalisation and is exact.
class QuantizedMatrix {
 public:
  /// Parts of a packed matrix, for the cache file. Sizes as returned by values(), scales() …
  struct Parts {
    std::span<const std::int8_t> values;  ///< 64-byte aligned
    std::span<const float> scales;
    std::span<const std::int32_t> row_sums;
    std::span<const float> bias;  ///< empty: none
  };

  QuantizedMatrix() = default;
  /// Allocates zeroed memory (huge pages where the system gives them); scales are 0 until rows are
  /// packed. Throws std::bad_alloc. Requires: 0 < rows, 0 < columns ≤ kMaxLinearColumns.
  [[nodiscard]] static QuantizedMatrix allocate(int rows, int columns, bool has_bias);
  /// Uses memory of someone else, which must outlive the matrix.
  /// Errors: kBadFile when a part has the wrong size or alignment, or the shape is out of range.
  [[nodiscard]] static Result<QuantizedMatrix> view(int rows, int columns, const Parts& parts);

  /// Rotates, quantises and packs rows [first_row, first_row + num_rows). Any thread, different
  /// rows; the result does not depend on the instruction set.
  /// Shapes: weights: [num_rows, columns]. Requires: owns its memory.
  void pack_rows(const KernelTable& kernels, int first_row, int num_rows,
                 std::span<const float> weights);
  /// Copies bias values of rows [first_row, first_row + bias.size()). Requires: allocated with
  /// bias.
  void set_bias(int first_row, std::span<const float> bias);

  /// Writes row `row` as float, scale and rotation undone; the same bits on every instruction set.
  /// Shapes: out: [columns]. Any thread.
  void dequantize_row(const KernelTable& kernels, int row, std::span<float> out) const;

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int padded_rows() const { return (rows_ + 15) / 16 * 16; }
  [[nodiscard]] int num_k_tiles() const { return (columns_ + 63) / 64; }
  [[nodiscard]] int block() const { return block_; }
  /// All parts; views stay valid while the matrix's memory does.
  [[nodiscard]] const Parts& parts() const { return parts_; }
  /// Bytes of all parts.
  [[nodiscard]] std::size_t size_bytes() const;

  /// Number of bytes of the values part of a shape. Requires: rows, columns > 0.
  [[nodiscard]] static std::size_t values_size(int rows, int columns);

 private:
  int rows_ = 0;
  int columns_ = 0;
  int block_ = 1;
  Parts parts_;
  AlignedBuffer<std::int8_t> own_values_;
  AlignedBuffer<float> own_scales_;
  AlignedBuffer<std::int32_t> own_row_sums_;
  AlignedBuffer<float> own_bias_;
};

}  // namespace paceline
