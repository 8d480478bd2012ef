// Kernels for AVX-512 with VNNI. vpdpbusd multiplies unsigned by signed bytes and adds modulo 2^32:
// activations are value + 128, so an accumulator starts at -128 · Σ weights and ends exact.
#include <immintrin.h>

#include "model/kernels/avx512_lanes.h"
#include "model/kernels/avx512_outputs.h"
#include "model/kernels/kernel_tables.h"

namespace paceline {
namespace {

using Block = ActivationBlock<Avx512Lanes>;

constexpr int kLinesPerStep = 16 / WeightPrefetch::kStepsPerTile;

/// Adds the products of kLinesPerStep · 4 values of K.
template <int kRows, int kGroups>
[[gnu::always_inline]] inline void add_lines(const std::int8_t* weights, std::size_t group_stride,
                                             const std::uint8_t* values,
                                             __m512i (&sums)[kRows][kGroups]) {
#pragma GCC unroll 16
  for (int line = 0; line < kLinesPerStep; ++line) {
    __m512i w[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      w[g] = _mm512_loadu_si512(weights + static_cast<std::size_t>(g) * group_stride + line * 64);
    }
    for (int i = 0; i < kRows; ++i) {
      std::int32_t four;
      __builtin_memcpy(&four, values + i * 64 + line * 4, 4);
      const __m512i a = _mm512_set1_epi32(four);
      for (int g = 0; g < kGroups; ++g) sums[i][g] = _mm512_dpbusd_epi32(sums[i][g], a, w[g]);
    }
  }
}

/// Computes kRows rows of one block, from row `r` of it, for kGroups groups of 16 outputs.
template <int kRows, int kGroups>
void compute_tile(const LinearArgs& args, const Block& block, int r, int group,
                  WeightPrefetch& prefetch) {
  const std::size_t group_stride = static_cast<std::size_t>(args.num_k_tiles) * 1024;
  const std::int8_t* weights = args.weights + static_cast<std::size_t>(group) * group_stride;
  const std::uint8_t* values = block.data + r * 64;
  const int first_row = block.first_row + r;
  const auto target = Avx512OutputTarget::of(args);
  __m512i sums[kRows][kGroups];
  for (int i = 0; i < kRows; ++i) {
    target.prefetch<kGroups>(group, first_row + i);
    for (int g = 0; g < kGroups; ++g) sums[i][g] = Avx512OutputGroup::start(args, group + g);
  }
  for (int tile = 0; tile < args.num_k_tiles; ++tile) {
    for (int step = 0; step < WeightPrefetch::kStepsPerTile; ++step) {
      prefetch.step();
      add_lines<kRows, kGroups>(weights, group_stride, values, sums);
      values += kLinesPerStep * 4;
      weights += kLinesPerStep * 64;
    }
    values += block.tile_stride - 64;
  }
  for (int g = 0; g < kGroups; ++g) {
    const auto outputs = Avx512OutputGroup::of(args, group + g);
    for (int i = 0; i < kRows; ++i) target.write(outputs, first_row + i, sums[i][g]);
  }
}

/// Rows of one register tile: 8 rows × 2 groups = 16 accumulators, above the 10 that hide the
/// latency of vpdpbusd, and two loads of weights and eight of activations for 16 products.
constexpr int kTileRows = 8;

template <int kGroups>
void compute_rows(const LinearArgs& args, const Block& block, int r, int group, int num_rows,
                  WeightPrefetch& prefetch) {
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
  auto prefetch = WeightPrefetch::after<kGroups>(args, group, last_group, num_row_tiles);
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
  finish_outputs(args);
}

}  // namespace

const KernelTable& avx512_vnni_kernels() {
  static const KernelTable table =
      make_kernel_table<Avx512Lanes>(Isa::kAvx512Vnni, 300, linear_int8);
  return table;
}

}  // namespace paceline
