// Kernels for AVX-512 with VNNI. vpdpbusd multiplies unsigned by signed bytes and adds modulo 2^32:
// activations are value + 128, so an accumulator starts at -128 · Σ weights and ends exact.
#include <immintrin.h>

#include "model/kernels/avx512_lanes.h"
#include "model/kernels/kernel_tables.h"

namespace paceline {
namespace {

using Block = ActivationBlock<Avx512Lanes>;

/// A stretch of weights to bring into the second-level cache while others are multiplied, so many
/// lines of 64 bytes per K tile.
struct Prefetch {
  const std::int8_t* next;
  int lines_per_k_tile;
};

void prefetch_lines(Prefetch& prefetch) {
  for (int i = 0; i < prefetch.lines_per_k_tile; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(prefetch.next), _MM_HINT_T1);
    prefetch.next += 64;
  }
}

/// Converts 16 sums to outputs and writes those below num_outputs.
void write_outputs(const LinearArgs& args, __m512i sums, int row, int output) {
  __m512 y = _mm512_mul_ps(
      _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(args.activation_scales[row])),
      _mm512_loadu_ps(args.weight_scales + output));
  if (args.bias != nullptr) y = _mm512_add_ps(y, _mm512_loadu_ps(args.bias + output));
  float* out = args.y + static_cast<std::size_t>(row) * args.ldy + output;
  const int count = args.num_outputs - output;
  if (count >= 16) {
    _mm512_storeu_ps(out, y);
  } else {
    _mm512_mask_storeu_ps(out, static_cast<__mmask16>((1U << count) - 1U), y);
  }
}

/// Computes kRows rows of one block, from row `r` of it, for kGroups groups of 16 outputs.
template <int kRows, int kGroups>
void compute_tile(const LinearArgs& args, const Block& block, int r, int group,
                  Prefetch& prefetch) {
  const std::size_t group_stride = static_cast<std::size_t>(args.num_k_tiles) * 1024;
  const std::int8_t* weights = args.weights + static_cast<std::size_t>(group) * group_stride;
  const std::uint8_t* values = block.data + r * 64;
  __m512i sums[kRows][kGroups];
  for (int g = 0; g < kGroups; ++g) {
    const __m512i weight_sums = _mm512_loadu_si512(args.weight_sums + (group + g) * 16);
    const __m512i start =
        _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(weight_sums, 7));
    for (int i = 0; i < kRows; ++i) sums[i][g] = start;
  }
  for (int tile = 0; tile < args.num_k_tiles; ++tile) {
#pragma GCC unroll 4
    for (int line = 0; line < 16; ++line) {
      __m512i w[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        w[g] = _mm512_loadu_si512(weights + static_cast<std::size_t>(g) * group_stride + line * 64);
      }
      for (int i = 0; i < kRows; ++i) {
        std::int32_t four;
        __builtin_memcpy(&four, values + i * 64 + line * 4, 4);
        const __m512i a = _mm512_set1_epi32(four);
        for (int g = 0; g < kGroups; ++g) {
          sums[i][g] = _mm512_dpbusd_epi32(sums[i][g], a, w[g]);
        }
      }
    }
    prefetch_lines(prefetch);
    values += block.tile_stride;
    weights += 1024;
  }
  for (int g = 0; g < kGroups; ++g) {
    for (int i = 0; i < kRows; ++i) {
      write_outputs(args, sums[i][g], block.first_row + r + i, (group + g) * 16);
    }
  }
}

/// Rows of one register tile: 8 rows × 2 groups = 16 accumulators, above the 10 that hide the
/// latency of vpdpbusd, and two loads of weights and eight of activations for 16 products.
constexpr int kTileRows = 8;

template <int kGroups>
void compute_rows(const LinearArgs& args, const Block& block, int r, int group, int num_rows,
                  Prefetch& prefetch) {
  switch (num_rows) {
    case 1:
      return compute_tile<1, kGroups>(args, block, r, group, prefetch);
    case 2:
      return compute_tile<2, kGroups>(args, block, r, group, prefetch);
    case 3:
      return compute_tile<3, kGroups>(args, block, r, group, prefetch);
    case 4:
      return compute_tile<4, kGroups>(args, block, r, group, prefetch);
    case 5:
      return compute_tile<5, kGroups>(args, block, r, group, prefetch);
    case 6:
      return compute_tile<6, kGroups>(args, block, r, group, prefetch);
    case 7:
      return compute_tile<7, kGroups>(args, block, r, group, prefetch);
    default:
      return compute_tile<kTileRows, kGroups>(args, block, r, group, prefetch);
  }
}

/// Computes all rows for kGroups groups; meanwhile prefetches as many groups after them when those
/// belong to this piece of work too.
template <int kGroups>
void compute_groups(const LinearArgs& args, int group, int last_group) {
  const int num_row_tiles = (args.num_rows + kTileRows - 1) / kTileRows;
  const bool has_next = group + 2 * kGroups <= last_group;
  Prefetch prefetch = {args.weights + static_cast<std::size_t>(group + kGroups) *
                                          static_cast<std::size_t>(args.num_k_tiles) * 1024,
                       has_next ? (kGroups * 16 + num_row_tiles - 1) / num_row_tiles : 0};
  for (int first_row = 0; first_row < args.num_rows; first_row += 16) {
    const Block block = Block::of(args, first_row);
    for (int r = 0; r < block.height; r += kTileRows) {
      const int rest = block.height - r;
      compute_rows<kGroups>(args, block, r, group, rest < kTileRows ? rest : kTileRows, prefetch);
    }
  }
}

void linear_int8(const LinearArgs& args, int first_group, int last_group) {
  int group = first_group;
  for (; group + 2 <= last_group; group += 2) compute_groups<2>(args, group, last_group);
  if (group < last_group) compute_groups<1>(args, group, last_group);
}

}  // namespace

const KernelTable& avx512_vnni_kernels() {
  static const KernelTable table =
      make_kernel_table<Avx512Lanes>(Isa::kAvx512Vnni, 300, linear_int8);
  return table;
}

}  // namespace paceline
