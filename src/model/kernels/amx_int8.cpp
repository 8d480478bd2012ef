// Kernels for AMX int8. A tile register holds 16 rows of 64 bytes: tdpbusd multiplies 16 activation
// rows × 64 values of K (u8, value + 128) by 64 values of K × 16 outputs (s8) and adds to 16 × 16
// sums. Packed weights and QuantizedRows are laid out as such tiles. Few rows go to AVX-512 VNNI,
// which has the same bits.
#include <immintrin.h>

#include "model/kernels/avx512_lanes.h"
#include "model/kernels/kernel_tables.h"

namespace paceline {
namespace {

using Block = ActivationBlock<Avx512Lanes>;

constexpr std::size_t kTileBytes = 1024;
/// Below this many rows tiles run so empty that VNNI is faster.
constexpr int kMinRows = 12;

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

/// Sums of up to two blocks × two groups, as stored from the tile registers.
struct alignas(64) TileSums {
  std::int32_t tile[4][16][16];
};

/// Converts one block's sums for one group to outputs and writes those below num_outputs.
void write_outputs(const LinearArgs& args, const std::int32_t (*sums)[16], const Block& block,
                   int group) {
  const int output = group * 16;
  const int count = args.num_outputs - output;
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffffU : (1U << count) - 1U);
  const __m512 weight_scales = _mm512_loadu_ps(args.weight_scales + output);
  const __m512 bias =
      args.bias != nullptr ? _mm512_loadu_ps(args.bias + output) : _mm512_setzero_ps();
  float* out = args.y + static_cast<std::size_t>(block.first_row) * args.ldy + output;
  const float* activation_scales = args.activation_scales + block.first_row;
  for (int row = 0; row < block.height; ++row, out += args.ldy) {
    __m512 y = _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[row])),
                                           _mm512_set1_ps(activation_scales[row])),
                             weight_scales);
    if (args.bias != nullptr) y = _mm512_add_ps(y, bias);
    _mm512_mask_storeu_ps(out, mask, y);
  }
}

/// Loads the start of the sums, -128 · Σ weights for every row: a tile of one row, repeated by a
/// stride of 0.
void load_start(const LinearArgs& args, int group, std::int32_t* start) {
  const __m512i weight_sums = _mm512_loadu_si512(args.weight_sums + group * 16);
  _mm512_store_si512(start,
                     _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(weight_sums, 7)));
}

/// Computes one or two blocks of rows for one or two groups of 16 outputs. `blocks` has kBlocks.
template <int kBlocks, int kGroups>
void compute_tiles(const LinearArgs& args, const Block* blocks, int group, TileSums& sums) {
  const std::size_t group_stride = static_cast<std::size_t>(args.num_k_tiles) * kTileBytes;
  const std::int8_t* weights = args.weights + static_cast<std::size_t>(group) * group_stride;
  alignas(64) std::int32_t start[2][16];
  for (int g = 0; g < kGroups; ++g) load_start(args, group + g, start[g]);
  compiler_fence();
  _tile_loadd(0, start[0], 0);
  if constexpr (kGroups == 2) _tile_loadd(1, start[1], 0);
  if constexpr (kBlocks == 2) _tile_loadd(2, start[0], 0);
  if constexpr (kBlocks == 2 && kGroups == 2) _tile_loadd(3, start[1], 0);
  for (int k = 0; k < args.num_k_tiles; ++k) {
    const auto tile = static_cast<std::size_t>(k);
    const std::int8_t* w = weights + tile * kTileBytes;
    _tile_loadd(6, w, 64);
    _tile_loadd(4, blocks[0].data + tile * blocks[0].tile_stride, 64);
    _tile_dpbusd(0, 4, 6);
    if constexpr (kGroups == 2) {
      _tile_loadd(7, w + group_stride, 64);
      _tile_dpbusd(1, 4, 7);
    }
    if constexpr (kBlocks == 2) {
      _tile_loadd(5, blocks[1].data + tile * blocks[1].tile_stride, 64);
      _tile_dpbusd(2, 5, 6);
    }
    if constexpr (kBlocks == 2 && kGroups == 2) _tile_dpbusd(3, 5, 7);
  }
  _tile_stored(0, sums.tile[0], 64);
  if constexpr (kGroups == 2) _tile_stored(1, sums.tile[1], 64);
  if constexpr (kBlocks == 2) _tile_stored(2, sums.tile[2], 64);
  if constexpr (kBlocks == 2 && kGroups == 2) _tile_stored(3, sums.tile[3], 64);
  compiler_fence();
  for (int b = 0; b < kBlocks; ++b) {
    for (int g = 0; g < kGroups; ++g) {
      write_outputs(args, sums.tile[2 * b + g], blocks[b], group + g);
    }
  }
}

template <int kGroups>
void compute_groups(const LinearArgs& args, int group, TileState& tiles, TileSums& sums) {
  int row = 0;
  for (; row + 16 < args.num_rows; row += 32) {
    const Block blocks[2] = {Block::of(args, row), Block::of(args, row + 16)};
    tiles.configure(16, blocks[1].height);
    compute_tiles<2, kGroups>(args, blocks, group, sums);
  }
  if (row < args.num_rows) {
    const Block block = Block::of(args, row);
    tiles.configure(block.height, block.height);
    compute_tiles<1, kGroups>(args, &block, group, sums);
  }
}

void linear_int8(const LinearArgs& args, int first_group, int last_group) {
  if (args.num_rows < kMinRows) {
    return avx512_vnni_kernels().linear_int8(args, first_group, last_group);
  }
  TileState tiles;
  TileSums sums;
  int group = first_group;
  for (; group + 2 <= last_group; group += 2) compute_groups<2>(args, group, tiles, sums);
  if (group < last_group) compute_groups<1>(args, group, tiles, sums);
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
