#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "model/kernels/kv_group_layout.h"
#include "model/model_config.h"

namespace paceline {

/// |K bias| above which plain int8 keys cost accuracy: such a layer's K is stored as bf16. In the
/// public Qwen2.5 files a layer's largest bias is either ≤ 6 or far above this.
inline constexpr float kLargeKeyBias = 16.0F;

/// How one block is laid out: [n_layers][n_kv_heads][block_size / 16] groups
/// (kernels/kv_group_layout.h); a block's layers are contiguous, so that copying it is one copy and
/// memory becomes resident block by block. Immutable value.
class KvCacheLayout {
 public:
  /// `dtype` kInt8 keeps K as bf16 in layers whose entry of `max_key_bias` (largest |K bias|, one
  /// per layer) is above kLargeKeyBias; kBf16 and kF32 apply to all of K and V. Requires:
  /// block_size is 16, 32 or 64.
  KvCacheLayout(const ModelConfig& config, KvElement dtype, std::span<const float> max_key_bias,
                int block_size);

  [[nodiscard]] int block_size() const { return block_size_; }
  [[nodiscard]] std::size_t bytes_per_block() const { return bytes_per_block_; }
  [[nodiscard]] int n_layers() const { return static_cast<int>(layers_.size()); }
  /// Groups of one layer; and where they begin within a block, in bytes.
  [[nodiscard]] const KvGroupLayout& group(int layer) const { return at(layer).group; }
  [[nodiscard]] std::size_t offset(int layer) const { return at(layer).offset; }

 private:
  struct Layer {
    KvGroupLayout group;
    std::size_t offset;
  };
  [[nodiscard]] const Layer& at(int layer) const {
    return layers_[static_cast<std::size_t>(layer)];
  }

  int block_size_;
  std::size_t bytes_per_block_ = 0;
  std::vector<Layer> layers_;
};

/// The memory behind BlockIds. Reserved as a whole, resident only where it was written. Owned by
/// the model runner; written and read inside a step, by any thread for different positions.
class KvCache {
 public:
  /// Errors: kBadConfig when the address space or the size in bytes is not available.
  [[nodiscard]] static Result<KvCache> create(KvCacheLayout layout, int num_blocks);
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) = delete;
  ~KvCache();

  /// Copies what holds the first num_tokens positions, all layers; the target's further positions
  /// become undefined. Requires: 0 < num_tokens ≤ block_size.
  void copy_block(BlockId source, BlockId target, int num_tokens);

  [[nodiscard]] KvLayerView layer(int layer) const;
  [[nodiscard]] const KvCacheLayout& layout() const { return layout_; }
  [[nodiscard]] int num_blocks() const { return num_blocks_; }
  [[nodiscard]] std::size_t reserved_bytes() const { return bytes_; }
  /// Bytes that are in memory now; asks the system, about a millisecond per gigabyte.
  [[nodiscard]] std::size_t resident_bytes() const;

 private:
  KvCache(KvCacheLayout layout, int num_blocks, std::byte* memory, std::size_t bytes);

  KvCacheLayout layout_;
  int num_blocks_;
  std::byte* memory_;
  std::size_t bytes_;
};

}  // namespace paceline
