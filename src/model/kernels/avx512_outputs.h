#pragma once

// For files that are compiled with AVX-512; empty elsewhere, so that the header can be included
// alone.
#if defined(__AVX512F__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "model/kernels/kernels.h"

namespace paceline {

/// How sums of one group of 16 outputs become floats.
struct Avx512OutputGroup {
  __m512 scale;
  __m512 bias;  ///< -0 without bias: the neutral summand of every float, -0 included
  int first_output;
  int count;  ///< outputs that exist, 1 … 16

  static Avx512OutputGroup of(const LinearArgs& args, int group) {
    const int output = group * 16;
    const int rest = args.num_outputs - output;
    return {_mm512_loadu_ps(args.weight_scales + output),
            args.bias != nullptr ? _mm512_loadu_ps(args.bias + output) : _mm512_set1_ps(-0.0F),
            output, rest < 16 ? rest : 16};
  }

  /// Returns -128 · Σ weights, where sums over activations stored as value + 128 start.
  static __m512i start(const LinearArgs& args, int group) {
    const __m512i sums = _mm512_loadu_si512(args.weight_sums + group * 16);
    return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums, 7));
  }
};

/// Where outputs go, as values: members of LinearArgs would be read again after every store.
struct Avx512OutputTarget {
  float* y;
  std::size_t ldy;
  const float* activation_scales;
  bool streams;

  static Avx512OutputTarget of(const LinearArgs& args) {
    return {args.y, args.ldy, args.activation_scales, args.stream_outputs};
  }

  /// Converts the sums of one row and one group and writes the outputs that exist.
  void write(const Avx512OutputGroup& group, int row, __m512i sums) const {
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(activation_scales[row]));
    const __m512 result = _mm512_add_ps(_mm512_mul_ps(scaled, group.scale), group.bias);
    float* out = y + static_cast<std::size_t>(row) * ldy + group.first_output;
    if (group.count < 16) {
      _mm512_mask_storeu_ps(out, static_cast<__mmask16>((1U << group.count) - 1U), result);
    } else if (streams) {
      _mm512_stream_ps(out, result);
    } else {
      _mm512_storeu_ps(out, result);
    }
  }

  /// Fetches the lines that a row of kGroups groups will be written to, so that the stores find
  /// them in the cache. (Not __builtin_prefetch: g++ drops loops that do nothing else.)
  template <int kGroups>
  void prefetch(int first_group, int row) const {
    if (streams) return;
    const float* line = y + static_cast<std::size_t>(row) * ldy + first_group * 16;
    asm volatile("prefetchw %0" : : "m"(line[0]));
    if constexpr (kGroups == 2) asm volatile("prefetchw %0" : : "m"(line[16]));
  }
};

/// Ends a piece of work: streaming stores are not ordered by the release that tells others of it.
inline void finish_outputs(const LinearArgs& args) {
  if (args.stream_outputs) _mm_sfence();
}

/// Weights to bring into the second-level cache while others are multiplied: a few lines at each of
/// four steps per K tile, since more at once than the core has fill buffers (10 to 16) would stall
/// it.
struct WeightPrefetch {
  static constexpr int kStepsPerTile = 4;

  const std::int8_t* next;
  const std::int8_t* end;
  int lines_per_step;

  /// Spreads the kGroups groups after `group` over the K tiles of num_passes passes; nothing when
  /// they do not belong to this piece of work, which ends at last_group.
  template <int kGroups>
  static WeightPrefetch after(const LinearArgs& args, int group, int last_group, int num_passes) {
    const std::size_t group_bytes = static_cast<std::size_t>(args.num_k_tiles) * 1024;
    const std::int8_t* next =
        args.weights + static_cast<std::size_t>(group + kGroups) * group_bytes;
    if (group + 2 * kGroups > last_group) return {next, next, 0};
    const int num_steps = num_passes * kStepsPerTile;
    return {next, next + kGroups * group_bytes, (kGroups * 16 + num_steps - 1) / num_steps};
  }

  void step() {
    if (next >= end) return;
    for (int i = 0; i < lines_per_step; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(next + i * 64), _MM_HINT_T1);
    }
    next += lines_per_step * 64;
  }
};

}  // namespace paceline

#endif
