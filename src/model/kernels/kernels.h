#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace paceline {

/// Instruction sets with kernels of their own, weakest first.
enum class Isa { kScalar, kAvx2, kAvx512Vnni, kAmxInt8 };

/// Returns the name used in flags, logs and metrics: `scalar`, `avx2`, `avx512_vnni`, `amx_int8`.
[[nodiscard]] std::string_view to_string(Isa isa);

/// Returns whether this build and this processor can run the kernels of `isa`. For kAmxInt8 it
/// also asks the kernel for the tile registers, once per process. Any thread.
[[nodiscard]] bool is_available(Isa isa);

/// Returns the strongest available instruction set. Any thread.
[[nodiscard]] Isa detect_isa();

/// Returns the instruction set of that name, or the strongest available one when `forced` is empty
/// or `auto`. Errors: kBadConfig when the name is unknown or the processor lacks it.
[[nodiscard]] Result<Isa> choose_isa(std::string_view forced);

/// One linear layer in terms of memory; how the arrays are laid out is drawn in quantized_matrix.h
/// (weights) and quantized_rows.h (activations).
struct LinearArgs {
  const std::uint8_t* activations = nullptr;  ///< QuantizedRows, [num_rows] rows, value + 128
  const float* activation_scales = nullptr;   ///< [num_rows]
  int num_rows = 0;                           ///< M ≥ 1
  int num_k_tiles = 0;                        ///< padded columns / 64
  const std::int8_t* weights = nullptr;       ///< [num_groups][num_k_tiles][16][16 × 4]
  const float* weight_scales = nullptr;       ///< [padded outputs]
  const std::int32_t* weight_sums = nullptr;  ///< [padded outputs]: sum of the row's int8 values
  const float* bias = nullptr;                ///< [padded outputs], or null
  int num_outputs = 0;                        ///< N; the last group of 16 may be partly padding
  float* y = nullptr;                         ///< [num_rows, ldy]
  std::size_t ldy = 0;                        ///< floats from one row of y to the next, ≥ N
  /// Hint: y is larger than the caches, write it past them. Requires: y and ldy aligned to 64
  /// bytes.
  bool stream_outputs = false;
};

/// Functions of one instruction set. All tables give the same bits for the same inputs, and each
/// row of a result depends on that row's inputs only: float sums run in 16 lanes (element i goes to
/// lane i mod 16, in rising order) that are then added as a fixed tree (lanes l and l + 8, then
/// l + 4, l + 2, l + 1), products are never contracted with sums, integer sums are exact. Pointers
/// need no alignment. All functions may run on any thread, at the same time.
struct KernelTable {
  Isa isa;
  /// Rough speed of linear_int8 on many rows and one core, 10^9 multiply-adds per second: sizes the
  /// pieces of work, has no effect on results.
  int linear_gmacs;

  /// RMSNorm: y[i] = (x[i] · r) · weight[i], r = 1 / sqrt(mean(x²) + eps). y may be x.
  /// Shapes: x, weight, y: [n].
  void (*rms_norm)(const float* x, const float* weight, int n, float eps, float* y);

  /// x[i] = x[i] + delta[i]. Shapes: x, delta: [n].
  void (*add)(float* x, const float* delta, int n);

  /// SwiGLU: y[i] = (gate[i] / (1 + exp(-gate[i]))) · up[i]. y may be gate or up; the relative
  /// error is below 5e-7 for |gate| ≤ 87 (Elementwise::exp). Shapes: gate, up, y: [n].
  void (*swiglu)(const float* gate, const float* up, int n, float* y);

  /// Rotary embedding in place, pairs (i, i + head_dim / 2) of each head. Shapes: x: [num_heads,
  /// head_dim]; cos, sin: [head_dim / 2] of the row's position. Requires: head_dim even.
  void (*rope)(float* x, int num_heads, int head_dim, const float* cos, const float* sin);

  /// Walsh–Hadamard transform in place of every `block` values, not normalised (applied twice it
  /// multiplies by `block`); butterflies of distance 1, 2, 4 … block / 2. Shapes: x: [n].
  /// Requires: block is a power of two ≤ 128 that divides n.
  void (*hadamard)(float* x, int n, int block);

  /// Rotates x in place by the Hadamard transform and quantises it to int8, symmetric, round to
  /// nearest even, ±127 at the largest absolute value. Value i is written as u8 (value + 128) to
  /// q[(i / 64) · tile_stride + i % 64]; the rest of the last 64 is filled with 128 (zero).
  /// Returns the scale, in units of the transformed value: max / 127. An all-zero (below 1e-30) row
  /// gives scale 0; a row with an infinity or a NaN gives scale NaN and values 0, so that the
  /// fault shows in the result. Shapes: x: [n]. Requires: as hadamard; n ≤ kMaxLinearColumns.
  float (*quantize_row)(float* x, int n, int block, std::uint8_t* q, std::size_t tile_stride);

  /// y[m, o] = (float(Σ_k a[m, k] · w[o, k]) · activation_scale[m]) · weight_scale[o] + bias[o] for
  /// the outputs of groups [first_group, last_group) of 16 and all rows. Rows of y are written up
  /// to num_outputs only.
  void (*linear_int8)(const LinearArgs& args, int first_group, int last_group);
};

/// Longest K of a linear layer: 127 · 127 · K must stay below 2^31.
inline constexpr int kMaxLinearColumns = 131072;

/// Returns the functions of an instruction set; the table lives for the whole program. Requires:
/// is_available(isa). Any thread.
[[nodiscard]] const KernelTable& kernels_for(Isa isa);

}  // namespace paceline
