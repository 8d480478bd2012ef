#pragma once

#include <cstddef>

namespace paceline {

/// How an element of K or V is stored.
enum class KvElement { kInt8, kBf16, kF32 };

/// Positions of one group, the unit of the KV cache's memory layout; every block size is a multiple
/// of it, so that the layout inside a group does not depend on the block size.
inline constexpr int kKvGroupSize = 16;
/// Positions that attention computes at a time, counted from position 0 of the sequence.
inline constexpr int kAttentionTile = 64;
inline constexpr int kGroupsPerTile = kAttentionTile / kKvGroupSize;

/// Widest head of any supported model.
inline constexpr int kMaxHeadDim = 256;

/// Layout of 16 consecutive positions of one KV head in one layer. A vector of 64 bytes holds one
/// step of the dot product for 16 positions (K) or 16 dimensions (V), which is what the int8 dot
/// instructions take. `pd` is the head's width rounded up to a multiple of 16; padding is zero.
///
///     K int8   [pd/4][16 positions][4 dims]     u8, value + 128      then scales [16] f32
///     K bf16   [pd/2][16 positions][2 dims]
///     K f32    [pd][16 positions]
///     V int8   [4][pd/16][16 dims][4 positions] s8                   then scales [16] f32
///     V bf16   [8][pd][2 positions]
///     V f32    [16 positions][pd]
///
/// V follows K. All parts are multiples of 64 bytes.
struct KvGroupLayout {
  KvGroupLayout() = default;
  /// Requires: head_dim > 0.
  KvGroupLayout(KvElement key_element, KvElement value_element, int head_width);

  KvElement key = KvElement::kInt8;
  KvElement value = KvElement::kInt8;
  int head_dim = 0;
  int padded_dim = 0;
  std::size_t key_scales_offset = 0;    ///< bytes from the group's start
  std::size_t value_offset = 0;         ///< bytes from the group's start
  std::size_t value_scales_offset = 0;  ///< bytes from the group's start
  std::size_t bytes = 0;                ///< of the whole group
};

/// Where one layer's groups are: group g of head h in block b starts at
/// base + b · block_stride + h · head_stride + g · layout.bytes.
struct KvLayerView {
  std::byte* base = nullptr;
  std::size_t block_stride = 0;
  std::size_t head_stride = 0;
  int groups_per_block = 0;
  KvGroupLayout layout;
};

}  // namespace paceline
