#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/kernels/attention_exp.h"
#include "model/kernels/attention_tables.h"

namespace paceline {
namespace {

using attention_exp::exp_nonpositive;

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

float bf16_to_float(const std::byte* p) {
  std::uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float float_at(const std::byte* p, int index) {
  float value;
  std::memcpy(&value, p + static_cast<std::size_t>(index) * sizeof value, sizeof value);
  return value;
}

float quantize_head(const float* x, int dim, std::int8_t* out) {
  float max = 0.0F;
  for (int d = 0; d < dim; ++d) max = std::fabs(x[d]) > max ? std::fabs(x[d]) : max;
  if (!(max >= kSmallestMagnitude)) {
    std::memset(out, 0, static_cast<std::size_t>(dim));
    return 0.0F;
  }
  const float inverse = 127.0F / max;
  for (int d = 0; d < dim; ++d) {
    out[d] = static_cast<std::int8_t>(std::lrint(x[d] * inverse));
  }
  return max / 127.0F;
}

void scores_int8(const QueryHeads& q, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < q.num_heads; ++h) {
    for (int j = 0; j < kAttentionTile; ++j) {
      const std::byte* group = tile.groups[j / kKvGroupSize];
      const int slot = j % kKvGroupSize;
      std::int32_t sum = -128 * q.sums[h];
      for (int d = 0; d < dims; ++d) {
        const std::byte k = group[(d / 4) * 64 + slot * 4 + d % 4];
        sum += std::to_integer<std::int32_t>(k) * q.quants[h * dims + d];
      }
      const float k_scale = float_at(group + tile.layout->key_scales_offset, slot);
      scores[h * kAttentionTile + j] = static_cast<float>(sum) * k_scale * q.scales[h];
    }
  }
}

void scores_bf16(const QueryHeads& q, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < q.num_heads; ++h) {
    for (int j = 0; j < kAttentionTile; ++j) {
      const std::byte* group = tile.groups[j / kKvGroupSize];
      const int slot = j % kKvGroupSize;
      float sum = 0.0F;
      for (int d = 0; d < dims; ++d) {
        const float k = bf16_to_float(group + (d / 2) * 64 + slot * 4 + (d % 2) * 2);
        sum = std::fma(q.values[h * dims + d], k, sum);
      }
      scores[h * kAttentionTile + j] = sum;
    }
  }
}

void scores_f32(const QueryHeads& q, const KvTile& tile, float* scores) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < q.num_heads; ++h) {
    for (int j = 0; j < kAttentionTile; ++j) {
      const std::byte* group = tile.groups[j / kKvGroupSize];
      float sum = 0.0F;
      for (int d = 0; d < dims; ++d) {
        const float k = float_at(group, d * kKvGroupSize + j % kKvGroupSize);
        sum = std::fma(q.values[h * dims + d], k, sum);
      }
      scores[h * kAttentionTile + j] = sum;
    }
  }
}

float softmax_tile(float* scores, int num_valid, SoftmaxState& state) {
  float max = state.max;
  for (int j = 0; j < num_valid; ++j) max = scores[j] > max ? scores[j] : max;
  for (int j = 0; j < kAttentionTile; ++j) {
    scores[j] = exp_nonpositive((j < num_valid ? scores[j] : kNegativeInfinity) - max);
  }
  float lanes[16];
  for (int i = 0; i < 16; ++i) {
    lanes[i] = ((scores[i] + scores[16 + i]) + scores[32 + i]) + scores[48 + i];
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  const float rescale = exp_nonpositive(state.max - max);
  state.sum = state.sum * rescale + lanes[0];
  state.max = max;
  return rescale;
}

float quantize_probabilities(const float* probabilities, const KvTile& tile, std::uint8_t* out) {
  float weights[kAttentionTile];
  float max = 0.0F;
  for (int j = 0; j < kAttentionTile; ++j) {
    const std::byte* group = tile.groups[j / kKvGroupSize];
    const float v_scale = float_at(group + tile.layout->value_scales_offset, j % kKvGroupSize);
    // A position past the sequence's end may hold anything; its probability is 0.
    weights[j] = probabilities[j] > 0.0F ? probabilities[j] * v_scale : 0.0F;
    max = weights[j] > max ? weights[j] : max;
  }
  if (!(max >= kSmallestMagnitude)) {
    std::memset(out, 0, kAttentionTile);
    return 0.0F;
  }
  const float inverse = 255.0F / max;
  for (int j = 0; j < kAttentionTile; ++j) {
    out[j] = static_cast<std::uint8_t>(std::lrint(weights[j] * inverse));
  }
  return max / 255.0F;
}

void values_int8(const std::uint8_t* probabilities, const float* scales, const float* rescale,
                 int num_heads, const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for (int d = 0; d < dims; ++d) {
      std::int32_t sum = 0;
      for (int j = 0; j < kAttentionTile; ++j) {
        const std::byte* v = tile.groups[j / kKvGroupSize] + tile.layout->value_offset;
        const int quad = j % kKvGroupSize / 4;
        const std::byte value = v[(quad * dims + d) * 4 + j % 4];
        sum += probabilities[h * kAttentionTile + j] * static_cast<std::int8_t>(value);
      }
      float& o = out[h * dims + d];
      o = o * rescale[h] + static_cast<float>(sum) * scales[h];
    }
  }
}

/// Calls element(v, position in the group, dim) for V's values in the order that the float kernels
/// keep.
template <typename Element>
void values_float(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                  const KvTile& tile, float* out, Element element) {
  const int dims = tile.layout->padded_dim;
  for (int h = 0; h < num_heads; ++h) {
    for (int d = 0; d < dims; ++d) {
      float sum = out[h * dims + d] * rescale[h];
      for (int j = 0; j < num_valid; ++j) {
        const std::byte* v = tile.groups[j / kKvGroupSize] + tile.layout->value_offset;
        sum = std::fma(probabilities[h * kAttentionTile + j], element(v, j % kKvGroupSize, d), sum);
      }
      out[h * dims + d] = sum;
    }
  }
}

void values_bf16(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                 const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  values_float(probabilities, num_valid, rescale, num_heads, tile, out,
               [dims](const std::byte* v, int slot, int d) {
                 return bf16_to_float(v + ((slot / 2) * dims + d) * 4 + (slot % 2) * 2);
               });
}

void values_f32(const float* probabilities, int num_valid, const float* rescale, int num_heads,
                const KvTile& tile, float* out) {
  const int dims = tile.layout->padded_dim;
  values_float(
      probabilities, num_valid, rescale, num_heads, tile, out,
      [dims](const std::byte* v, int slot, int d) { return float_at(v, slot * dims + d); });
}

}  // namespace

const AttentionKernels kAttentionScalar = {
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
