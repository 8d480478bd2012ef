#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/kernels.h"
#include "model/kernels/kv_group_layout.h"

namespace paceline {

/// One tile of 64 positions of one KV head, as up to four groups. Groups past the sequence's end
/// repeat a valid address, so that kernels read all four; what they give is masked.
struct KvTile {
  const std::byte* groups[kGroupsPerTile];
  const KvGroupLayout* layout;
};

/// Query heads of one token that share a KV head, prepared for one layer.
struct QueryHeads {
  int num_heads;              ///< n_heads / n_kv_heads
  const std::int8_t* quants;  ///< int8 K: [num_heads, padded_dim], padding zero
  const float* scales;        ///< int8 K: [num_heads], 1/√head_dim included
  const std::int32_t* sums;   ///< int8 K: [num_heads], Σ of the quants
  const float* values;        ///< other K: [num_heads, padded_dim], 1/√head_dim included
};

/// Online softmax of one query head over the tiles seen so far.
struct SoftmaxState {
  float max;  ///< largest score; -inf before the first tile
  float sum;  ///< Σ exp(score - max)
};

/// The steps of attention on one tile. Every instruction set gives the same bits: int8 products are
/// summed exactly, float operations are the same ones in the same order (products with one rounding
/// where `fma` is written; otherwise each operation rounds by itself). Any thread.
struct AttentionKernels {
  /// Quantises x [dim] symmetrically to out [dim] and returns the scale (largest magnitude / 127);
  /// a vector below 1e-30 everywhere gives zeros and scale 0.
  float (*quantize_head)(const float* x, int dim, std::int8_t* out);

  /// scores [num_heads, 64] = q · k, scaled. int8: float(Σ) · k_scale · q_scale, in this order.
  /// bf16 and f32: fma over the dimensions in rising order, from 0.
  void (*scores_int8)(const QueryHeads& q, const KvTile& tile, float* scores);
  void (*scores_bf16)(const QueryHeads& q, const KvTile& tile, float* scores);
  void (*scores_f32)(const QueryHeads& q, const KvTile& tile, float* scores);

  /// Turns the first num_valid of a head's 64 scores into probabilities relative to the new maximum
  /// (the others become 0) and brings the state up to date. Returns exp(old maximum - new one), by
  /// which what was summed so far must be multiplied.
  float (*softmax_tile)(float* scores, int num_valid, SoftmaxState& state);

  /// Folds V's scales into a head's 64 probabilities and quantises them to u8 with one scale per
  /// tile, which is returned.
  float (*quantize_probabilities)(const float* probabilities, const KvTile& tile,
                                  std::uint8_t* out);

  /// out [num_heads, padded_dim] = out · rescale[head] + p · v. int8: probabilities are u8
  /// [num_heads, 64], float(Σ) · scales[head] is added.
  void (*values_int8)(const std::uint8_t* probabilities, const float* scales, const float* rescale,
                      int num_heads, const KvTile& tile, float* out);
  /// bf16 and f32: fma over the first num_valid positions in rising order.
  void (*values_bf16)(const float* probabilities, int num_valid, const float* rescale,
                      int num_heads, const KvTile& tile, float* out);
  void (*values_f32)(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                     const KvTile& tile, float* out);
};

/// Returns the kernels for an instruction set. Requires: the processor has it.
[[nodiscard]] const AttentionKernels& attention_kernels(Isa isa);

}  // namespace paceline
