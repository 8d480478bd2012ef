#include "model/dequantize.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "model/iq3_s_grid.h"

// Compiled without contraction of a * b + c: each product is rounded on its own, as the reference
// does. In every function below `b` is one block and `out` its values, in the order of the file.

namespace paceline {
namespace {

using Bytes = const std::uint8_t*;

/// Converts IEEE half to float, exactly; also subnormal values, infinities and NaN. No arithmetic
/// on subnormal floats, so flush-to-zero modes change nothing.
inline float half_to_float(std::uint32_t half) {
  constexpr std::uint32_t kTwoToMinus14 = 0x38800000U;  // smallest normal half
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  const std::uint32_t exponent = half & 0x7c00U;
  const std::uint32_t normal = magnitude + (112U << 23);
  const std::uint32_t special = magnitude | 0x7f800000U;
  const auto subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(kTwoToMinus14 + magnitude) - std::bit_cast<float>(kTwoToMinus14));
  const std::uint32_t value = exponent == 0 ? subnormal : (exponent == 0x7c00U ? special : normal);
  return std::bit_cast<float>(value | (half & 0x8000U) << 16);
}

inline std::uint32_t load_u16(Bytes p) {
  return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8;
}

inline std::uint32_t load_u32(Bytes p) { return load_u16(p) | load_u16(p + 2) << 16; }

inline float load_half(Bytes p) { return half_to_float(load_u16(p)); }

inline float to_float(int value) { return static_cast<float>(value); }

void dequantize_f32(Bytes b, float* out) { *out = std::bit_cast<float>(load_u32(b)); }

void dequantize_f16(Bytes b, float* out) { *out = load_half(b); }

void dequantize_bf16(Bytes b, float* out) { *out = std::bit_cast<float>(load_u16(b) << 16); }

// q8_0: d f16 · 32 × int8.   value = q · d
void dequantize_q8_0(Bytes b, float* out) {
  const float d = load_half(b);
  for (int i = 0; i < 32; ++i) out[i] = to_float(static_cast<std::int8_t>(b[2 + i])) * d;
}

// q4_0: d f16 · 16 bytes of two nibbles, low ones first.   value = d · (q - 8)
void dequantize_q4_0(Bytes b, float* out) {
  const float d = load_half(b);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * to_float((b[2 + i] & 15) - 8);
    out[16 + i] = d * to_float((b[2 + i] >> 4) - 8);
  }
}

// q4_1: d f16 · m f16 · nibbles.   value = d · q + m
void dequantize_q4_1(Bytes b, float* out) {
  const float d = load_half(b);
  const float m = load_half(b + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * to_float(b[4 + i] & 15) + m;
    out[16 + i] = d * to_float(b[4 + i] >> 4) + m;
  }
}

// q5_0: d f16 · 32 fifth bits · nibbles.   value = d · (q - 16)
void dequantize_q5_0(Bytes b, float* out) {
  const float d = load_half(b);
  const std::uint32_t high = load_u32(b + 2);
  for (int i = 0; i < 16; ++i) {
    const int low_bit = static_cast<int>(high >> i & 1U) << 4;
    const int high_bit = static_cast<int>(high >> (16 + i) & 1U) << 4;
    out[i] = d * to_float(((b[6 + i] & 15) | low_bit) - 16);
    out[16 + i] = d * to_float((b[6 + i] >> 4 | high_bit) - 16);
  }
}

// q5_1: d f16 · m f16 · 32 fifth bits · nibbles.   value = d · q + m
void dequantize_q5_1(Bytes b, float* out) {
  const float d = load_half(b);
  const float m = load_half(b + 2);
  const std::uint32_t high = load_u32(b + 4);
  for (int i = 0; i < 16; ++i) {
    const int low_bit = static_cast<int>(high >> i & 1U) << 4;
    const int high_bit = static_cast<int>(high >> (16 + i) & 1U) << 4;
    out[i] = d * to_float((b[8 + i] & 15) | low_bit) + m;
    out[16 + i] = d * to_float(b[8 + i] >> 4 | high_bit) + m;
  }
}

// q2_k: 16 bytes scale | minimum << 4 · 64 bytes of 2-bit values · d f16 · dmin f16. Two halves of
// 128 values: 32 bytes hold four planes of 32 values each. A scale serves 16 values.
void dequantize_q2_k(Bytes b, float* out) {
  const Bytes quants = b + 16;
  const float d = load_half(b + 80);
  const float dmin = load_half(b + 82);
  for (int group = 0; group < 16; ++group) {
    const int plane = group / 2 % 4;
    const Bytes q = quants + group / 8 * 32 + group % 2 * 16;
    const float scale = d * to_float(b[group] & 15);
    const float minimum = dmin * to_float(b[group] >> 4);
    for (int i = 0; i < 16; ++i) {
      out[group * 16 + i] = scale * to_float(q[i] >> (2 * plane) & 3) - minimum;
    }
  }
}

// q3_k: 32 bytes of third bits · 64 bytes of 2-bit values as in q2_k · 16 scales of 6 bits, the low
// 4 bits in 8 bytes, the high 2 in 4 · d f16. A clear third bit takes 4 off.
void dequantize_q3_k(Bytes b, float* out) {
  const Bytes quants = b + 32;
  const Bytes scales = b + 96;
  const float d = load_half(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int plane = group / 2 % 4;
    const Bytes q = quants + group / 8 * 32 + group % 2 * 16;
    const Bytes third = b + group % 2 * 16;
    const int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
    const int high = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
    const float scale = d * to_float((low | high << 4) - 32);
    for (int i = 0; i < 16; ++i) {
      const int offset = (third[i] >> (group / 2) & 1) != 0 ? 0 : 4;
      out[group * 16 + i] = scale * to_float((q[i] >> (2 * plane) & 3) - offset);
    }
  }
}

/// Scale and minimum of one group of 32 values of q4_k and q5_k: 6 bits each, packed in 12 bytes.
struct ScaleAndMinimum {
  int scale;
  int minimum;
};

inline ScaleAndMinimum unpack_scale(Bytes packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  return {(packed[group + 4] & 15) | (packed[group - 4] >> 6 << 4),
          packed[group + 4] >> 4 | (packed[group] >> 6 << 4)};
}

// q4_k: d f16 · dmin f16 · 12 bytes of scales · 128 bytes of nibbles; 32 bytes hold two groups of
// 32 values, the first in the low nibbles.   value = d·scale · q - dmin·minimum
void dequantize_q4_k(Bytes b, float* out) {
  const float d = load_half(b);
  const float dmin = load_half(b + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum packed = unpack_scale(b + 4, group);
    const Bytes q = b + 16 + group / 2 * 32;
    const int shift = group % 2 * 4;
    const float scale = d * to_float(packed.scale);
    const float minimum = dmin * to_float(packed.minimum);
    for (int i = 0; i < 32; ++i) {
      out[group * 32 + i] = scale * to_float(q[i] >> shift & 15) - minimum;
    }
  }
}

// q5_k: as q4_k with 32 bytes of fifth bits, bit `group` of byte i, before the nibbles.
void dequantize_q5_k(Bytes b, float* out) {
  const float d = load_half(b);
  const float dmin = load_half(b + 2);
  const Bytes fifth = b + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum packed = unpack_scale(b + 4, group);
    const Bytes q = b + 48 + group / 2 * 32;
    const int shift = group % 2 * 4;
    const float scale = d * to_float(packed.scale);
    const float minimum = dmin * to_float(packed.minimum);
    for (int i = 0; i < 32; ++i) {
      const int value = (q[i] >> shift & 15) | (fifth[i] >> group & 1) << 4;
      out[group * 32 + i] = scale * to_float(value) - minimum;
    }
  }
}

// q6_k: 128 bytes of low nibbles · 64 bytes of high 2 bits · 16 int8 scales · d f16. Two halves of
// 128 values, each four runs of 32; runs 2 and 3 are the high nibbles of runs 0 and 1.
void dequantize_q6_k(Bytes b, float* out) {
  const Bytes scales = b + 192;
  const float d = load_half(b + 208);
  for (int group = 0; group < 16; ++group) {
    const int half = group / 8;
    const int run = group / 2 % 4;
    const int start = group % 2 * 16;
    const Bytes low = b + half * 64 + run % 2 * 32 + start;
    const Bytes high = b + 128 + half * 32 + start;
    const float scale = d * to_float(static_cast<std::int8_t>(scales[group]));
    for (int i = 0; i < 16; ++i) {
      const int value = (low[i] >> (run / 2 * 4) & 15) | (high[i] >> (2 * run) & 3) << 4;
      out[group * 16 + i] = scale * to_float(value - 32);
    }
  }
}

/// Values of the 16 codes of iq4_nl and iq4_xs.
constexpr std::array<float, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

// iq4_nl: d f16 · nibbles as in q4_0, which select from the table.
void dequantize_iq4_nl(Bytes b, float* out) {
  const float d = load_half(b);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * kIq4Values[b[2 + i] & 15U];
    out[16 + i] = d * kIq4Values[b[2 + i] >> 4U];
  }
}

// iq4_xs: d f16 · high 2 bits of 8 scales in 16 bits · their low nibbles in 4 bytes · 8 groups of
// 16 bytes of nibbles.
void dequantize_iq4_xs(Bytes b, float* out) {
  const float d = load_half(b);
  const auto high_bits = static_cast<int>(load_u16(b + 2));
  for (int group = 0; group < 8; ++group) {
    const int low = b[4 + group / 2] >> (group % 2 * 4) & 15;
    const int high = high_bits >> (2 * group) & 3;
    const float scale = d * to_float((low | high << 4) - 32);
    const Bytes q = b + 8 + group * 16;
    for (int i = 0; i < 16; ++i) {
      out[group * 32 + i] = scale * kIq4Values[q[i] & 15U];
      out[group * 32 + 16 + i] = scale * kIq4Values[q[i] >> 4U];
    }
  }
}

// iq3_s: d f16 · low 8 bits of 64 code-book indices · their ninth bits in 8 bytes · 256 sign bits ·
// 8 scales of 4 bits. An index stands for four magnitudes.
void dequantize_iq3_s(Bytes b, float* out) {
  const float d = load_half(b);
  const Bytes low = b + 2;
  const Bytes ninth = b + 66;
  const Bytes signs = b + 74;
  const Bytes scales = b + 106;
  for (int quad = 0; quad < 64; ++quad) {
    const int scale_bits = scales[quad / 16] >> (quad / 8 % 2 * 4) & 15;
    const float scale = d * to_float(1 + 2 * scale_bits);
    const auto index =
        static_cast<std::size_t>(low[quad] | (ninth[quad / 8] >> (quad % 8) & 1) << 8);
    const int magnitudes = kIq3sGrid[index];
    for (int i = 0; i < 4; ++i) {
      const bool negative = (signs[quad / 2] >> (quad % 2 * 4 + i) & 1) != 0;
      const float value = scale * to_float(2 * (magnitudes >> (4 * i) & 15) + 1);
      out[quad * 4 + i] = negative ? -value : value;
    }
  }
}

/// Runs one type's block function over all blocks; sizes are constants so that the inner loops are
/// vectorised.
template <auto dequantize_block, std::size_t kValues, std::size_t kBytes>
void run(Bytes blocks, std::span<float> out) {
  const std::size_t num_blocks = out.size() / kValues;
  for (std::size_t i = 0; i < num_blocks; ++i) {
    dequantize_block(blocks + i * kBytes, out.data() + i * kValues);
  }
}

}  // namespace

void dequantize(TensorType type, std::span<const std::byte> blocks, std::span<float> out) {
  const TensorTypeInfo& info = tensor_type_info(type);
  DCHECK(out.size() % static_cast<std::size_t>(info.block_values) == 0);
  DCHECK(blocks.size() / static_cast<std::size_t>(info.block_bytes) *
             static_cast<std::size_t>(info.block_values) ==
         out.size());
  const auto* bytes = reinterpret_cast<Bytes>(blocks.data());
  switch (type) {
    case TensorType::kF32:
      return run<dequantize_f32, 1, 4>(bytes, out);
    case TensorType::kF16:
      return run<dequantize_f16, 1, 2>(bytes, out);
    case TensorType::kBF16:
      return run<dequantize_bf16, 1, 2>(bytes, out);
    case TensorType::kQ8_0:
      return run<dequantize_q8_0, 32, 34>(bytes, out);
    case TensorType::kQ4_0:
      return run<dequantize_q4_0, 32, 18>(bytes, out);
    case TensorType::kQ4_1:
      return run<dequantize_q4_1, 32, 20>(bytes, out);
    case TensorType::kQ5_0:
      return run<dequantize_q5_0, 32, 22>(bytes, out);
    case TensorType::kQ5_1:
      return run<dequantize_q5_1, 32, 24>(bytes, out);
    case TensorType::kQ2_K:
      return run<dequantize_q2_k, 256, 84>(bytes, out);
    case TensorType::kQ3_K:
      return run<dequantize_q3_k, 256, 110>(bytes, out);
    case TensorType::kQ4_K:
      return run<dequantize_q4_k, 256, 144>(bytes, out);
    case TensorType::kQ5_K:
      return run<dequantize_q5_k, 256, 176>(bytes, out);
    case TensorType::kQ6_K:
      return run<dequantize_q6_k, 256, 210>(bytes, out);
    case TensorType::kIQ4_NL:
      return run<dequantize_iq4_nl, 32, 18>(bytes, out);
    case TensorType::kIQ4_XS:
      return run<dequantize_iq4_xs, 256, 136>(bytes, out);
    case TensorType::kIQ3_S:
      return run<dequantize_iq3_s, 256, 110>(bytes, out);
  }
  CHECK(false && "not a TensorType");
}

}  // namespace paceline
