// Kernels for AMX int8. A tile register holds 16 rows of 64 bytes: tdpbusd multiplies 16 activation
// rows × 64 values of K (u8, value + 128) by 64 values of K × 16 outputs (s8) and adds to 16 × 16
// sums. Packed weights and QuantizedRows are laid out as such tiles. Few rows go to AVX-512 VNNI,
// which has the same bits.
#include <immintrin.h>

#include "model/kernels/avx512_lanes.h"
#include "model/kernels/avx512_outputs.h"
#include "model/kernels/kernel_tables.h"

namespace paceline {
namespace {

using Block = ActivationBlock<Avx512Lanes>;

constexpr std::size_t kTileBytes = 1024;
/// Below this many rows VNNI reaches the speed of memory too, without setting up tiles.
constexpr int kMinRows = 3;

// Tile registers: sums 0 … 3 (block b, group g: 2b + g), activations 4 and 5, weights 6 and 7.

/// Keeps the compiler from moving memory accesses over tile instructions, whose intrinsics do not
/// say what memory they read.
void compiler_fence() { asm volatile("" ::: "memory"); }

/// Operand of ldtilecfg. Source: Intel SDM, volume 1, chapter 18.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {};
  std::uint8_t rows[16] = {};
};

/// The calling thread's tile registers, configured on demand for two activation blocks of given
/// heights and released at the end, so that the thread's saved state stays small.
class TileState {
 public:
  TileState() = default;
  ~TileState() {
    if (first_height_ != 0) _tile_release();
  }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;

  /// Requires: heights 1 … 16.
  void configure(int first_height, int second_height) {
    if (first_height == first_height_ && second_height == second_height_) return;
    first_height_ = first_height;
    second_height_ = second_height;
    TileConfig config;
    const int heights[8] = {first_height,
                            first_height,
                            second_height,
                            second_height,
                            first_height,
                            second_height,
                            16,
                            16};
    for (int tile = 0; tile < 8; ++tile) {
      config.rows[tile] = static_cast<std::uint8_t>(heights[tile]);
      config.bytes_per_row[tile] = 64;
    }
    compiler_fence();
    _tile_loadconfig(&config);
    compiler_fence();
  }

 private:
  int first_height_ = 0;
  int second_height_ = 0;
};

/// Sums of two blocks × two groups, as stored from the tile registers: [2 · block + group].
struct alignas(64) TileSums {
  std::int32_t tile[4][16][16];
};

/// Sets the sum tiles to -128 · Σ weights in every row: a tile of one row, repeated by a stride of
/// 0.
template <int kBlocks, int kGroups>
void start_sums(const LinearArgs& args, int group) {
  alignas(64) std::int32_t start[2][16];
  for (int g = 0; g < kGroups; ++g) {
    _mm512_store_si512(start[g], Avx512OutputGroup::start(args, group + g));
  }
  compiler_fence();
  _tile_loadd(0, start[0], 0);
  if constexpr (kGroups == 2) _tile_loadd(1, start[1], 0);
  if constexpr (kBlocks == 2) _tile_loadd(2, start[0], 0);
  if constexpr (kBlocks == 2 && kGroups == 2) _tile_loadd(3, start[1], 0);
}

/// Adds the products over all of K to the sum tiles. Meanwhile fetches the next weights, and the
/// lines that the outputs of these tiles will be written to.
template <int kBlocks, int kGroups>
void multiply(const LinearArgs& args, const Block* blocks, int group, WeightPrefetch& prefetch) {
  const std::size_t group_stride = static_cast<std::size_t>(args.num_k_tiles) * kTileBytes;
  const std::int8_t* w = args.weights + static_cast<std::size_t>(group) * group_stride;
  const std::uint8_t* a0 = blocks[0].data;
  const std::uint8_t* a1 = blocks[kBlocks - 1].data;
  const auto target = Avx512OutputTarget::of(args);
  int row = blocks[0].first_row;
  const int last_row = blocks[kBlocks - 1].first_row + blocks[kBlocks - 1].height;
  const int rows_per_step = (16 * kBlocks + args.num_k_tiles - 1) / args.num_k_tiles;
  for (int k = 0; k < args.num_k_tiles; ++k) {
    _tile_loadd(6, w, 64);
    prefetch.step();
    _tile_loadd(4, a0, 64);
    _tile_dpbusd(0, 4, 6);
    prefetch.step();
    if constexpr (kGroups == 2) {
      _tile_loadd(7, w + group_stride, 64);
      _tile_dpbusd(1, 4, 7);
    }
    prefetch.step();
    if constexpr (kBlocks == 2) {
      _tile_loadd(5, a1, 64);
      _tile_dpbusd(2, 5, 6);
    }
    if constexpr (kBlocks == 2 && kGroups == 2) _tile_dpbusd(3, 5, 7);
    w += kTileBytes;
    a0 += blocks[0].tile_stride;
    a1 += blocks[kBlocks - 1].tile_stride;
    prefetch.step();
    for (int i = 0; i < rows_per_step && row < last_row; ++i, ++row) {
      target.prefetch<kGroups>(group, row);
    }
  }
}

/// Computes one or two blocks of rows for one or two groups of 16 outputs. `blocks` has kBlocks.
template <int kBlocks, int kGroups>
void compute_tiles(const LinearArgs& args, const Block* blocks, int group, TileState& tiles,
                   WeightPrefetch& prefetch) {
  tiles.configure(blocks[0].height, blocks[kBlocks - 1].height);
  start_sums<kBlocks, kGroups>(args, group);
  multiply<kBlocks, kGroups>(args, blocks, group, prefetch);
  TileSums sums;
  _tile_stored(0, sums.tile[0], 64);
  if constexpr (kGroups == 2) _tile_stored(1, sums.tile[1], 64);
  if constexpr (kBlocks == 2) _tile_stored(2, sums.tile[2], 64);
  if constexpr (kBlocks == 2 && kGroups == 2) _tile_stored(3, sums.tile[3], 64);
  compiler_fence();
  const Avx512OutputGroup outputs[2] = {Avx512OutputGroup::of(args, group),
                                        Avx512OutputGroup::of(args, group + kGroups - 1)};
  const auto target = Avx512OutputTarget::of(args);
  for (int b = 0; b < kBlocks; ++b) {
    const int height = blocks[b].height;
    const int first_row = blocks[b].first_row;
    for (int r = 0; r < height; ++r) {
      for (int g = 0; g < kGroups; ++g) {
        target.write(outputs[g], first_row + r, _mm512_load_si512(sums.tile[2 * b + g][r]));
      }
    }
  }
}

/// Computes all rows for kGroups groups.
template <int kGroups>
void compute_groups(const LinearArgs& args, int group, int last_group, TileState& tiles) {
  auto prefetch =
      WeightPrefetch::after<kGroups>(args, group, last_group, (args.num_rows + 31) / 32);
  for (int row = 0; row < args.num_rows; row += 32) {
    const Block first = Block::of(args, row);
    if (row + 16 < args.num_rows) {
      const Block blocks[2] = {first, Block::of(args, row + 16)};
      compute_tiles<2, kGroups>(args, blocks, group, tiles, prefetch);
    } else {
      compute_tiles<1, kGroups>(args, &first, group, tiles, prefetch);
    }
  }
}

void linear_int8(const LinearArgs& args, int first_group, int last_group) {
  if (args.num_rows < kMinRows) {
    return avx512_vnni_kernels().linear_int8(args, first_group, last_group);
  }
  TileState tiles;
  int group = first_group;
  for (; group + 2 <= last_group; group += 2) compute_groups<2>(args, group, last_group, tiles);
  if (group < last_group) compute_groups<1>(args, group, last_group, tiles);
  finish_outputs(args);
}

}  // namespace

const KernelTable& amx_int8_kernels() {
  static const KernelTable table = [] {
    KernelTable t = avx512_vnni_kernels();
    t.isa = Isa::kAmxInt8;
    t.linear_gmacs = 1200;
    t.linear_int8 = linear_int8;
    return t;
  }();
  return table;
}

}  // namespace paceline
