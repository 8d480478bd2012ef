// Compiled with AVX-512 F, BW, DQ, VL and VNNI. No templates of the standard library here: the
// linker could pick their code from this file for processors that lack the instructions.
#include <immintrin.h>

#include "model/kernels/attention_exp.h"
#include "model/kernels/attention_tables.h"

namespace paceline {
namespace {

// Query heads and 16-lane vectors of one register tile: 4 × 4 sums, 4 operands, 1 broadcast.
constexpr int kMaxHeads = 4;
constexpr int kMaxVectors = 4;
constexpr int kLanes = 16;
static_assert(kGroupsPerTile == kMaxVectors && kKvGroupSize == kLanes);

/// exp(x) for x ≤ 0, see attention_exp.h.
__m512 exp_nonpositive(__m512 x) {
  using namespace attention_exp;
  const __mmask16 in_range = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kExpMin), _CMP_GE_OQ);
  const __m512 t = _mm512_fmadd_ps(x, _mm512_set1_ps(kLog2E), _mm512_set1_ps(kRound));
  const __m512 n = _mm512_sub_ps(t, _mm512_set1_ps(kRound));
  const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low),
                                    _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x));
  __m512 p = _mm512_set1_ps(kCoefficients[0]);
  for (int i = 1; i < 7; ++i) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kCoefficients[i]));
  const __m512i exponent = _mm512_add_epi32(
      _mm512_sub_epi32(_mm512_castps_si512(t), _mm512_castps_si512(_mm512_set1_ps(kRound))),
      _mm512_set1_epi32(kExponentBias));
  const __m512 power = _mm512_castsi512_ps(_mm512_slli_epi32(exponent, kMantissaBits));
  return _mm512_maskz_mul_ps(in_range, p, power);
}

/// Adds lanes l and l + 8, then l + 4, l + 2, l + 1.
float sum_lanes(__m512 x) {
  const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

__m512i load(const void* p) { return _mm512_loadu_si512(p); }
__m512 low_bf16(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
__m512 high_bf16(__m512i pairs) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
}
__m512i broadcast_4_bytes(const void* p) { return _mm512_broadcastd_epi32(_mm_loadu_si32(p)); }

/// Calls step<Heads>(first head) for fours of heads, then for the rest.
template <typename Step>
void for_heads(int num_heads, Step step) {
  int first = 0;
  for (; first + kMaxHeads <= num_heads; first += kMaxHeads) {
    step.template operator()<kMaxHeads>(first);
  }
  switch (num_heads - first) {
    case 3:
      return step.template operator()<3>(first);
    case 2:
      return step.template operator()<2>(first);
    case 1:
      return step.template operator()<1>(first);
    default:
      return;
  }
}

/// Calls step<Vectors>(first dimension) for 64 dimensions at a time, then for 16.
template <typename Step>
void for_dims(int dims, Step step) {
  int d = 0;
  for (; d + kMaxVectors * kLanes <= dims; d += kMaxVectors * kLanes) {
    step.template operator()<kMaxVectors>(d);
  }
  for (; d < dims; d += kLanes) step.template operator()<1>(d);
}

float quantize_head(const float* x, int dim, std::int8_t* out) {
  __m512 max = _mm512_setzero_ps();
  for (int d = 0; d < dim; d += kLanes) {
    const int left = dim - d;
    const __mmask16 mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFF : (1 << left) - 1);
    max = _mm512_max_ps(_mm512_abs_ps(_mm512_maskz_loadu_ps(mask, x + d)), max);
  }
  const float largest = _mm512_reduce_max_ps(max);
  const bool is_zero = !(largest >= kSmallestMagnitude);
  const __m512 inverse = _mm512_set1_ps(is_zero ? 0.0F : 127.0F / largest);
  for (int d = 0; d < dim; d += kLanes) {
    const int left = dim - d;
    const __mmask16 mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFF : (1 << left) - 1);
    const __m512i q =
        _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + d), inverse));
    _mm512_mask_cvtepi32_storeu_epi8(out + d, mask, q);
  }
  return is_zero ? 0.0F : largest / 127.0F;
}

template <int Heads>
void scores_int8_heads(const QueryHeads& q, int first, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  const std::int8_t* quants = q.quants + static_cast<std::ptrdiff_t>(first) * dims;
  __m512i sums[Heads][kMaxVectors];
  for (int h = 0; h < Heads; ++h) {
    for (__m512i& sum : sums[h]) sum = _mm512_set1_epi32(-128 * q.sums[first + h]);
  }
  for (int d = 0; d < dims; d += 4) {
    __m512i k[kMaxVectors];
    for (int g = 0; g < kMaxVectors; ++g) k[g] = load(tile.groups[g] + d * kLanes);
    for (int h = 0; h < Heads; ++h) {
      const __m512i qd = broadcast_4_bytes(quants + h * dims + d);
      for (int g = 0; g < kMaxVectors; ++g) {
        sums[h][g] = _mm512_dpbusd_epi32(sums[h][g], k[g], qd);
      }
    }
  }
  for (int g = 0; g < kMaxVectors; ++g) {
    const __m512 k_scales = _mm512_loadu_ps(tile.groups[g] + tile.layout->key_scales_offset);
    for (int h = 0; h < Heads; ++h) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[h][g]), k_scales);
      _mm512_storeu_ps(scores + (first + h) * kAttentionTile + g * kLanes,
                       _mm512_mul_ps(scaled, _mm512_set1_ps(q.scales[first + h])));
    }
  }
}

template <int Heads>
void scores_bf16_heads(const QueryHeads& q, int first, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  const float* values = q.values + static_cast<std::ptrdiff_t>(first) * dims;
  __m512 sums[Heads][kMaxVectors];
  for (auto& row : sums) {
    for (__m512& sum : row) sum = _mm512_setzero_ps();
  }
  for (int d = 0; d < dims; d += 2) {
    __m512 low[kMaxVectors];
    __m512 high[kMaxVectors];
    for (int g = 0; g < kMaxVectors; ++g) {
      const __m512i pairs = load(tile.groups[g] + d * kLanes * 2);
      low[g] = low_bf16(pairs);
      high[g] = high_bf16(pairs);
    }
    for (int h = 0; h < Heads; ++h) {
      const __m512 q0 = _mm512_set1_ps(values[h * dims + d]);
      const __m512 q1 = _mm512_set1_ps(values[h * dims + d + 1]);
      for (int g = 0; g < kMaxVectors; ++g) {
        sums[h][g] = _mm512_fmadd_ps(q1, high[g], _mm512_fmadd_ps(q0, low[g], sums[h][g]));
      }
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int g = 0; g < kMaxVectors; ++g) {
      _mm512_storeu_ps(scores + (first + h) * kAttentionTile + g * kLanes, sums[h][g]);
    }
  }
}

template <int Heads>
void scores_f32_heads(const QueryHeads& q, int first, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  const float* values = q.values + static_cast<std::ptrdiff_t>(first) * dims;
  __m512 sums[Heads][kMaxVectors];
  for (auto& row : sums) {
    for (__m512& sum : row) sum = _mm512_setzero_ps();
  }
  for (int d = 0; d < dims; ++d) {
    __m512 k[kMaxVectors];
    for (int g = 0; g < kMaxVectors; ++g) k[g] = _mm512_loadu_ps(tile.groups[g] + d * kLanes * 4);
    for (int h = 0; h < Heads; ++h) {
      const __m512 qd = _mm512_set1_ps(values[h * dims + d]);
      for (int g = 0; g < kMaxVectors; ++g) sums[h][g] = _mm512_fmadd_ps(qd, k[g], sums[h][g]);
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int g = 0; g < kMaxVectors; ++g) {
      _mm512_storeu_ps(scores + (first + h) * kAttentionTile + g * kLanes, sums[h][g]);
    }
  }
}

float softmax_tile(float* scores, int num_valid, SoftmaxState& state) {
  const __m512 masked = _mm512_set1_ps(-__builtin_inff());
  __m512 s[kMaxVectors];
  for (int g = 0; g < kMaxVectors; ++g) {
    const int left = num_valid - g * kLanes;
    const unsigned mask = left >= kLanes ? 0xFFFFU : left <= 0 ? 0U : (1U << left) - 1U;
    s[g] = _mm512_mask_loadu_ps(masked, static_cast<__mmask16>(mask), scores + g * kLanes);
  }
  const __m512 largest = _mm512_max_ps(_mm512_max_ps(s[0], s[1]), _mm512_max_ps(s[2], s[3]));
  const float tile_max = _mm512_reduce_max_ps(largest);
  const float max = tile_max > state.max ? tile_max : state.max;
  for (int g = 0; g < kMaxVectors; ++g) {
    s[g] = exp_nonpositive(_mm512_sub_ps(s[g], _mm512_set1_ps(max)));
    _mm512_storeu_ps(scores + g * kLanes, s[g]);
  }
  const float sum = sum_lanes(_mm512_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), s[2]), s[3]));
  const float rescale = _mm512_cvtss_f32(exp_nonpositive(_mm512_set1_ps(state.max - max)));
  state.sum = state.sum * rescale + sum;
  state.max = max;
  return rescale;
}

float quantize_probabilities(const float* probabilities, const KvTile& tile, std::uint8_t* out) {
  __m512 w[kMaxVectors];
  for (int g = 0; g < kMaxVectors; ++g) {
    const __m512 p = _mm512_loadu_ps(probabilities + g * kLanes);
    const __mmask16 positive = _mm512_cmp_ps_mask(p, _mm512_setzero_ps(), _CMP_GT_OQ);
    const std::byte* scales = tile.groups[g] + tile.layout->value_scales_offset;
    w[g] = _mm512_maskz_mul_ps(positive, p, _mm512_loadu_ps(scales));
  }
  const float max =
      _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(w[0], w[1]), _mm512_max_ps(w[2], w[3])));
  const bool is_zero = !(max >= kSmallestMagnitude);
  const __m512 inverse = _mm512_set1_ps(is_zero ? 0.0F : 255.0F / max);
  for (int g = 0; g < kMaxVectors; ++g) {
    const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(w[g], inverse));
    _mm_storeu_si128(static_cast<__m128i*>(static_cast<void*>(out + g * kLanes)),
                     _mm512_cvtepi32_epi8(q));
  }
  return is_zero ? 0.0F : max / 255.0F;
}

/// Heads [0, Heads) of `out`, dimensions [first_dim, first_dim + 16 · Vectors).
template <int Heads, int Vectors>
void values_int8_piece(const std::uint8_t* p, const float* scales, const float* rescale,
                       int first_dim, const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m512i sums[Heads][Vectors];
  for (auto& row : sums) {
    for (__m512i& sum : row) sum = _mm512_setzero_si512();
  }
  for (int j = 0; j < kAttentionTile; j += 4) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) * dims + first_dim * 4;
    __m512i v[Vectors];
    for (int i = 0; i < Vectors; ++i) v[i] = load(values + i * 64);
    for (int h = 0; h < Heads; ++h) {
      const __m512i pj = broadcast_4_bytes(p + h * kAttentionTile + j);
      for (int i = 0; i < Vectors; ++i) {
        sums[h][i] = _mm512_dpbusd_epi32(sums[h][i], pj, v[i]);
      }
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int i = 0; i < Vectors; ++i) {
      float* o = out + h * dims + first_dim + i * kLanes;
      const __m512 before = _mm512_mul_ps(_mm512_loadu_ps(o), _mm512_set1_ps(rescale[h]));
      const __m512 added = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[h][i]), _mm512_set1_ps(scales[h]));
      _mm512_storeu_ps(o, _mm512_add_ps(before, added));
    }
  }
}

template <int Vectors>
void values_bf16_piece(const float* p, int num_valid, float rescale, int first_dim,
                       const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m512 sums[Vectors];
  for (int i = 0; i < Vectors; ++i) {
    sums[i] = _mm512_mul_ps(_mm512_loadu_ps(out + i * kLanes), _mm512_set1_ps(rescale));
  }
  for (int j = 0; j < num_valid; j += 2) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) / 2 * dims * 4 + first_dim * 4;
    for (int i = 0; i < Vectors; ++i) {
      const __m512i pairs = load(values + i * 64);
      sums[i] = _mm512_fmadd_ps(_mm512_set1_ps(p[j]), low_bf16(pairs), sums[i]);
      if (j + 1 < num_valid) {
        sums[i] = _mm512_fmadd_ps(_mm512_set1_ps(p[j + 1]), high_bf16(pairs), sums[i]);
      }
    }
  }
  for (int i = 0; i < Vectors; ++i) _mm512_storeu_ps(out + i * kLanes, sums[i]);
}

template <int Vectors>
void values_f32_piece(const float* p, int num_valid, float rescale, int first_dim,
                      const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  __m512 sums[Vectors];
  for (int i = 0; i < Vectors; ++i) {
    sums[i] = _mm512_mul_ps(_mm512_loadu_ps(out + i * kLanes), _mm512_set1_ps(rescale));
  }
  for (int j = 0; j < num_valid; ++j) {
    const std::byte* values = tile.groups[j / kKvGroupSize] + tile.layout->value_offset +
                              (j % kKvGroupSize) * dims * 4 + first_dim * 4;
    for (int i = 0; i < Vectors; ++i) {
      sums[i] = _mm512_fmadd_ps(_mm512_set1_ps(p[j]), _mm512_loadu_ps(values + i * 64), sums[i]);
    }
  }
  for (int i = 0; i < Vectors; ++i) _mm512_storeu_ps(out + i * kLanes, sums[i]);
}

void scores_int8(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_heads(q.num_heads,
            [&]<int Heads>(int first) { scores_int8_heads<Heads>(q, first, tile, scores); });
}

void scores_bf16(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_heads(q.num_heads,
            [&]<int Heads>(int first) { scores_bf16_heads<Heads>(q, first, tile, scores); });
}

void scores_f32(const QueryHeads& q, const KvTile& tile, float* scores) {
  for_heads(q.num_heads,
            [&]<int Heads>(int first) { scores_f32_heads<Heads>(q, first, tile, scores); });
}

void values_int8(const std::uint8_t* probabilities, const float* scales, const float* rescale,
                 int num_heads, const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for_heads(num_heads, [&]<int Heads>(int first) {
    for_dims(dims, [&]<int Vectors>(int d) {
      values_int8_piece<Heads, Vectors>(probabilities + first * kAttentionTile, scales + first,
                                        rescale + first, d, tile, out + first * dims);
    });
  });
}

void values_bf16(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                 const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for_dims(dims, [&]<int Vectors>(int d) {
      values_bf16_piece<Vectors>(probabilities + h * kAttentionTile, num_valid, rescale[h], d, tile,
                                 out + h * dims + d);
    });
  }
}

void values_f32(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for_dims(dims, [&]<int Vectors>(int d) {
      values_f32_piece<Vectors>(probabilities + h * kAttentionTile, num_valid, rescale[h], d, tile,
                                out + h * dims + d);
    });
  }
}

}  // namespace

const AttentionKernels kAttentionAvx512Vnni = {
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
