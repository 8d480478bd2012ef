// Compiled with AVX2 and FMA. No templates of the standard library here: the linker could pick
// their code from this file for processors that lack the instructions.
#include <immintrin.h>

#include "model/kernels/attention_exp.h"
#include "model/kernels/attention_tables.h"

namespace paceline {
namespace {

constexpr int kLanes = 8;
// Query heads of one register tile: 3 × 2 sums, 4 operands, 2 broadcasts fit 16 registers.
constexpr int kMaxHeads = 3;

/// exp(x) for x ≤ 0, see attention_exp.h.
__m256 exp_nonpositive(__m256 x) {
  using namespace attention_exp;
  const __m256 in_range = _mm256_cmp_ps(x, _mm256_set1_ps(kExpMin), _CMP_GE_OQ);
  const __m256 t = _mm256_fmadd_ps(x, _mm256_set1_ps(kLog2E), _mm256_set1_ps(kRound));
  const __m256 n = _mm256_sub_ps(t, _mm256_set1_ps(kRound));
  const __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low),
                                    _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x));
  __m256 p = _mm256_set1_ps(kCoefficients[0]);
  for (int i = 1; i < 7; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kCoefficients[i]));
  const __m256i exponent = _mm256_add_epi32(
      _mm256_sub_epi32(_mm256_castps_si256(t), _mm256_castps_si256(_mm256_set1_ps(kRound))),
      _mm256_set1_epi32(kExponentBias));
  const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(exponent, kMantissaBits));
  return _mm256_and_ps(_mm256_mul_ps(p, power), in_range);
}

float max_lanes(__m256 x) {
  const __m128 a = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 b = _mm_max_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

/// Adds lanes l and l + 8 (low and high), then l + 4, l + 2, l + 1.
float sum_lanes(__m256 low, __m256 high) {
  const __m256 a = _mm256_add_ps(low, high);
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
__m256 load_floats(const std::byte* p) { return _mm256_castsi256_ps(load(p)); }
__m256 low_bf16(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
__m256 high_bf16(__m256i pairs) {
  return _mm256_castsi256_ps(
      _mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xFFFF0000U))));
}

// Bytes of each 32-bit lane as pairs of 16 bits: 0 and 2, or 1 and 3. Products of such pairs are
// added exactly by vpmaddwd; vpmaddubsw would saturate.
__m256i even_unsigned(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi16(0x00FF)); }
__m256i odd_unsigned(__m256i x) { return _mm256_srli_epi16(x, 8); }
__m256i even_signed(__m256i x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
__m256i odd_signed(__m256i x) { return _mm256_srai_epi16(x, 8); }
__m256i broadcast_4_bytes(const void* p) { return _mm256_broadcastd_epi32(_mm_loadu_si32(p)); }

/// Calls step<Heads>(first head) for threes of heads, then for the rest.
template <typename Step>
void for_heads(int num_heads, Step step) {
  int first = 0;
  for (; first + kMaxHeads <= num_heads; first += kMaxHeads) {
    step.template operator()<kMaxHeads>(first);
  }
  if (num_heads - first == 2) step.template operator()<2>(first);
  if (num_heads - first == 1) step.template operator()<1>(first);
}

float quantize_head(const float* x, int dim, std::int8_t* out) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256 max = _mm256_setzero_ps();
  for (int d = 0; d < dim; d += kLanes) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(dim - d), lane);
    max = _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_maskload_ps(x + d, mask)), max);
  }
  const float largest = max_lanes(max);
  const bool is_zero = !(largest >= kSmallestMagnitude);
  const __m256 inverse = _mm256_set1_ps(is_zero ? 0.0F : 127.0F / largest);
  for (int d = 0; d < dim; d += kLanes) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(dim - d), lane);
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_maskload_ps(x + d, mask), inverse));
    alignas(32) std::int32_t lanes[kLanes];
    _mm256_store_si256(static_cast<__m256i*>(static_cast<void*>(lanes)), q);
    for (int i = 0; i < kLanes && d + i < dim; ++i) out[d + i] = static_cast<std::int8_t>(lanes[i]);
  }
  return is_zero ? 0.0F : largest / 127.0F;
}

/// Scores of one group of 16 positions.
template <int Heads>
void scores_int8_piece(const QueryHeads& q, int first, const std::byte* group,
                       const KvGroupLayout& layout, float* scores) {
  const int dims = layout.padded_dim;
  __m256i sums[Heads][2];
  for (int h = 0; h < Heads; ++h) {
    for (__m256i& sum : sums[h]) sum = _mm256_set1_epi32(-128 * q.sums[first + h]);
  }
  for (int d = 0; d < dims; d += 4) {
    const __m256i k0 = load(group + d * kKvGroupSize);
    const __m256i k1 = load(group + d * kKvGroupSize + 32);
    const __m256i even[2] = {even_unsigned(k0), even_unsigned(k1)};
    const __m256i odd[2] = {odd_unsigned(k0), odd_unsigned(k1)};
    for (int h = 0; h < Heads; ++h) {
      const __m256i qd = broadcast_4_bytes(q.quants + (first + h) * dims + d);
      const __m256i q_even = even_signed(qd);
      const __m256i q_odd = odd_signed(qd);
      for (int i = 0; i < 2; ++i) {
        sums[h][i] = _mm256_add_epi32(sums[h][i], _mm256_madd_epi16(even[i], q_even));
        sums[h][i] = _mm256_add_epi32(sums[h][i], _mm256_madd_epi16(odd[i], q_odd));
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    const __m256 k_scales = load_floats(group + layout.key_scales_offset + i * 32);
    for (int h = 0; h < Heads; ++h) {
      const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[h][i]), k_scales);
      _mm256_storeu_ps(scores + (first + h) * kAttentionTile + i * kLanes,
                       _mm256_mul_ps(scaled, _mm256_set1_ps(q.scales[first + h])));
    }
  }
}

template <int Heads>
void scores_bf16_piece(const QueryHeads& q, int first, const std::byte* group,
                       const KvGroupLayout& layout, float* scores) {
  const int dims = layout.padded_dim;
  __m256 sums[Heads][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
  for (int d = 0; d < dims; d += 2) {
    const __m256i k0 = load(group + d * kKvGroupSize * 2);
    const __m256i k1 = load(group + d * kKvGroupSize * 2 + 32);
    for (int h = 0; h < Heads; ++h) {
      const float* values = q.values + (first + h) * dims + d;
      const __m256 q0 = _mm256_set1_ps(values[0]);
      const __m256 q1 = _mm256_set1_ps(values[1]);
      sums[h][0] =
          _mm256_fmadd_ps(q1, high_bf16(k0), _mm256_fmadd_ps(q0, low_bf16(k0), sums[h][0]));
      sums[h][1] =
          _mm256_fmadd_ps(q1, high_bf16(k1), _mm256_fmadd_ps(q0, low_bf16(k1), sums[h][1]));
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int i = 0; i < 2; ++i) {
      _mm256_storeu_ps(scores + (first + h) * kAttentionTile + i * kLanes, sums[h][i]);
    }
  }
}

template <int Heads>
void scores_f32_piece(const QueryHeads& q, int first, const std::byte* group,
                      const KvGroupLayout& layout, float* scores) {
  const int dims = layout.padded_dim;
  __m256 sums[Heads][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
  for (int d = 0; d < dims; ++d) {
    const __m256 k0 = load_floats(group + d * kKvGroupSize * 4);
    const __m256 k1 = load_floats(group + d * kKvGroupSize * 4 + 32);
    for (int h = 0; h < Heads; ++h) {
      const __m256 qd = _mm256_set1_ps(q.values[(first + h) * dims + d]);
      sums[h][0] = _mm256_fmadd_ps(qd, k0, sums[h][0]);
      sums[h][1] = _mm256_fmadd_ps(qd, k1, sums[h][1]);
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int i = 0; i < 2; ++i) {
      _mm256_storeu_ps(scores + (first + h) * kAttentionTile + i * kLanes, sums[h][i]);
    }
  }
}

/// Calls step<Heads>(first head, group) for every group of the tile.
template <typename Step>
void for_groups(const QueryHeads& q, Step step) {
  for (int g = 0; g < kGroupsPerTile; ++g) {
    for_heads(q.num_heads,
              [&]<int Heads>(int first) { step.template operator()<Heads>(first, g); });
  }
}

void scores_int8(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_groups(q, [&]<int Heads>(int first, int g) {
    scores_int8_piece<Heads>(q, first, tile.groups[g], *tile.layout, scores + g * kKvGroupSize);
  });
}

void scores_bf16(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_groups(q, [&]<int Heads>(int first, int g) {
    scores_bf16_piece<Heads>(q, first, tile.groups[g], *tile.layout, scores + g * kKvGroupSize);
  });
}

void scores_f32(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_groups(q, [&]<int Heads>(int first, int g) {
    scores_f32_piece<Heads>(q, first, tile.groups[g], *tile.layout, scores + g * kKvGroupSize);
  });
}

float softmax_tile(float* scores, int num_valid, SoftmaxState& state) {
  constexpr int kVectors = kAttentionTile / kLanes;
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 masked = _mm256_set1_ps(-__builtin_inff());
  __m256 s[kVectors];
  __m256 largest = masked;
  for (int i = 0; i < kVectors; ++i) {
    const __m256i valid = _mm256_cmpgt_epi32(_mm256_set1_epi32(num_valid - i * kLanes), lane);
    s[i] =
        _mm256_blendv_ps(masked, _mm256_loadu_ps(scores + i * kLanes), _mm256_castsi256_ps(valid));
    largest = _mm256_max_ps(s[i], largest);
  }
  const float tile_max = max_lanes(largest);
  const float max = tile_max > state.max ? tile_max : state.max;
  for (int i = 0; i < kVectors; ++i) {
    s[i] = exp_nonpositive(_mm256_sub_ps(s[i], _mm256_set1_ps(max)));
    _mm256_storeu_ps(scores + i * kLanes, s[i]);
  }
  const __m256 low = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(s[0], s[2]), s[4]), s[6]);
  const __m256 high = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(s[1], s[3]), s[5]), s[7]);
  const float rescale = _mm256_cvtss_f32(exp_nonpositive(_mm256_set1_ps(state.max - max)));
  state.sum = state.sum * rescale + sum_lanes(low, high);
  state.max = max;
  return rescale;
}

float quantize_probabilities(const float* probabilities, const KvTile& tile, std::uint8_t* out) {
  constexpr int kVectors = kAttentionTile / kLanes;
  __m256 w[kVectors];
  __m256 largest = _mm256_setzero_ps();
  for (int i = 0; i < kVectors; ++i) {
    const __m256 p = _mm256_loadu_ps(probabilities + i * kLanes);
    const __m256 positive = _mm256_cmp_ps(p, _mm256_setzero_ps(), _CMP_GT_OQ);
    const std::byte* scales =
        tile.groups[i / 2] + tile.layout->value_scales_offset + (i % 2) * kLanes * 4;
    w[i] = _mm256_and_ps(_mm256_mul_ps(p, load_floats(scales)), positive);
    largest = _mm256_max_ps(w[i], largest);
  }
  const float max = max_lanes(largest);
  const bool is_zero = !(max >= kSmallestMagnitude);
  const __m256 inverse = _mm256_set1_ps(is_zero ? 0.0F : 255.0F / max);
  for (int i = 0; i < kVectors; ++i) {
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(w[i], inverse));
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
    _mm_storel_epi64(static_cast<__m128i*>(static_cast<void*>(out + i * kLanes)),
                     _mm_packus_epi16(words, words));
  }
  return is_zero ? 0.0F : max / 255.0F;
}

/// Heads [0, Heads) of `out`, 16 dimensions from first_dim.
template <int Heads>
void values_int8_piece(const std::uint8_t* p, const float* scales, const float* rescale,
                       int first_dim, const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m256i sums[Heads][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
  for (int j = 0; j < kAttentionTile; j += 4) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) * dims + first_dim * 4;
    const __m256i v0 = load(values);
    const __m256i v1 = load(values + 32);
    const __m256i even[2] = {even_signed(v0), even_signed(v1)};
    const __m256i odd[2] = {odd_signed(v0), odd_signed(v1)};
    for (int h = 0; h < Heads; ++h) {
      const __m256i pj = broadcast_4_bytes(p + h * kAttentionTile + j);
      const __m256i p_even = even_unsigned(pj);
      const __m256i p_odd = odd_unsigned(pj);
      for (int i = 0; i < 2; ++i) {
        sums[h][i] = _mm256_add_epi32(sums[h][i], _mm256_madd_epi16(even[i], p_even));
        sums[h][i] = _mm256_add_epi32(sums[h][i], _mm256_madd_epi16(odd[i], p_odd));
      }
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int i = 0; i < 2; ++i) {
      float* o = out + h * dims + first_dim + i * kLanes;
      const __m256 before = _mm256_mul_ps(_mm256_loadu_ps(o), _mm256_set1_ps(rescale[h]));
      const __m256 added = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[h][i]), _mm256_set1_ps(scales[h]));
      _mm256_storeu_ps(o, _mm256_add_ps(before, added));
    }
  }
}

void values_int8(const std::uint8_t* probabilities, const float* scales, const float* rescale,
                 int num_heads, const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int d = 0; d < dims; d += 2 * kLanes) {
    for_heads(num_heads, [&]<int Heads>(int first) {
      values_int8_piece<Heads>(probabilities + first * kAttentionTile, scales + first,
                               rescale + first, d, tile, out + first * dims);
    });
  }
}

/// Sixteen dimensions of one head.
void values_bf16_piece(const float* p, int num_valid, float rescale, int first_dim,
                       const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m256 sums[2];
  for (int i = 0; i < 2; ++i) {
    sums[i] = _mm256_mul_ps(_mm256_loadu_ps(out + i * kLanes), _mm256_set1_ps(rescale));
  }
  for (int j = 0; j < num_valid; j += 2) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) / 2 * dims * 4 + first_dim * 4;
    for (int i = 0; i < 2; ++i) {
      const __m256i pairs = load(values + i * 32);
      sums[i] = _mm256_fmadd_ps(_mm256_set1_ps(p[j]), low_bf16(pairs), sums[i]);
      if (j + 1 < num_valid) {
        sums[i] = _mm256_fmadd_ps(_mm256_set1_ps(p[j + 1]), high_bf16(pairs), sums[i]);
      }
    }
  }
  for (int i = 0; i < 2; ++i) _mm256_storeu_ps(out + i * kLanes, sums[i]);
}

/// Sixteen dimensions of one head.
void values_f32_piece(const float* p, int num_valid, float rescale, int first_dim,
                      const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m256 sums[2];
  for (int i = 0; i < 2; ++i) {
    sums[i] = _mm256_mul_ps(_mm256_loadu_ps(out + i * kLanes), _mm256_set1_ps(rescale));
  }
  for (int j = 0; j < num_valid; ++j) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) * dims * 4 + first_dim * 4;
    for (int i = 0; i < 2; ++i) {
      sums[i] = _mm256_fmadd_ps(_mm256_set1_ps(p[j]), load_floats(values + i * 32), sums[i]);
    }
  }
  for (int i = 0; i < 2; ++i) _mm256_storeu_ps(out + i * kLanes, sums[i]);
}

void values_bf16(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                 const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for (int d = 0; d < dims; d += 2 * kLanes) {
      values_bf16_piece(probabilities + h * kAttentionTile, num_valid, rescale[h], d, tile,
                        out + h * dims + d);
    }
  }
}

void values_f32(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for (int d = 0; d < dims; d += 2 * kLanes) {
      values_f32_piece(probabilities + h * kAttentionTile, num_valid, rescale[h], d, tile,
                       out + h * dims + d);
    }
  }
}

}  // namespace

const AttentionKernels kAttentionAvx2 = {
    .quantize_head = quantize_head,
    .scores_int8 = scores_int8,
    .scores_bf16 = scores_bf16,
    .scores_f32 = scores_f32,
    .softmax_tile = softmax_tile,
    .quantize_probabilities = quantize_probabilities,
    .values_int8 = values_int8,
    .values_bf16 = values_bf16,
    .values_f32 = values_f32,
};

}  // namespace paceline
