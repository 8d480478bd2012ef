// Kernels for AVX2. Weights and activations are widened to 16 bits, so that no product or pair of
// products can saturate: 2 · 255 · 127 fits 32 bits, which is what vpmaddwd adds into.
#include <immintrin.h>

#include "model/kernels/avx2_lanes.h"
#include "model/kernels/kernel_tables.h"

namespace paceline {
namespace {

using Block = ActivationBlock<Avx2Lanes>;

/// Accumulators of one row and one group: register q holds two partial sums for each of the outputs
/// 4q … 4q + 3, in order.
struct GroupSums {
  __m256i quarter[4];
};

/// Adds the partial sums in pairs: 8 outputs in order from two registers of 4 × 2.
__m256i join_pairs(__m256i low, __m256i high) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0b11011000);
}

/// Converts 8 sums to outputs and writes the first `count` of them.
void write_outputs(const LinearArgs& args, __m256i sums, int row, int output, int count) {
  const __m256i weight_sums =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(args.weight_sums + output));
  const __m256i exact = _mm256_sub_epi32(sums, _mm256_slli_epi32(weight_sums, 7));
  __m256 y = _mm256_mul_ps(
      _mm256_mul_ps(_mm256_cvtepi32_ps(exact), _mm256_set1_ps(args.activation_scales[row])),
      _mm256_loadu_ps(args.weight_scales + output));
  if (args.bias != nullptr) y = _mm256_add_ps(y, _mm256_loadu_ps(args.bias + output));
  float* out = args.y + static_cast<std::size_t>(row) * args.ldy + output;
  if (count >= 8) {
    _mm256_storeu_ps(out, y);
  } else if (count > 0) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(out, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes), y);
  }
}

/// Computes kRows rows of one block, from row `r` of it, for one group of 16 outputs.
template <int kRows>
void compute_tile(const LinearArgs& args, const Block& block, int r, int group) {
  const std::int8_t* weights =
      args.weights + static_cast<std::ptrdiff_t>(group) * args.num_k_tiles * 1024;
  const std::uint8_t* values = block.data + r * 64;
  GroupSums sums[kRows];
  for (GroupSums& row : sums) {
    for (__m256i& quarter : row.quarter) quarter = _mm256_setzero_si256();
  }
  for (int tile = 0; tile < args.num_k_tiles; ++tile) {
    for (int line = 0; line < 16; ++line) {
      __m256i a[kRows];
      for (int i = 0; i < kRows; ++i) {
        std::int32_t four;
        __builtin_memcpy(&four, values + i * 64 + line * 4, 4);
        a[i] = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
      }
      for (int q = 0; q < 4; ++q) {
        const __m256i w = _mm256_cvtepi8_epi16(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + line * 64 + q * 16)));
        for (int i = 0; i < kRows; ++i) {
          sums[i].quarter[q] = _mm256_add_epi32(sums[i].quarter[q], _mm256_madd_epi16(a[i], w));
        }
      }
    }
    values += block.tile_stride;
    weights += 1024;
  }
  const int output = group * 16;
  const int count = args.num_outputs - output;
  for (int i = 0; i < kRows; ++i) {
    const int row = block.first_row + r + i;
    const __m256i* q = sums[i].quarter;
    write_outputs(args, join_pairs(q[0], q[1]), row, output, count);
    write_outputs(args, join_pairs(q[2], q[3]), row, output + 8, count - 8);
  }
}

void linear_int8(const LinearArgs& args, int first_group, int last_group) {
  for (int group = first_group; group < last_group; ++group) {
    for (int first_row = 0; first_row < args.num_rows; first_row += 16) {
      const Block block = Block::of(args, first_row);
      int r = 0;
      for (; r + 2 <= block.height; r += 2) compute_tile<2>(args, block, r, group);
      if (r < block.height) compute_tile<1>(args, block, r, group);
    }
  }
}

}  // namespace

const KernelTable& avx2_kernels() {
  static const KernelTable table = make_kernel_table<Avx2Lanes>(Isa::kAvx2, 50, linear_int8);
  return table;
}

}  // namespace paceline
