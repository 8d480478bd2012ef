#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "kvpool/block_pool.h"

namespace paceline {

/// A sequence's blocks in order of position, each held by one reference. Gives all back when it
/// ends. Must not outlive the pool. Move-only; engine thread.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  ~BlockTable() { clear(); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  /// Appends a block whose reference the caller holds and passes on.
  void adopt(BlockId block) { ids_.push_back(block); }
  /// Appends a block that others may hold too.
  void share(BlockId block);
  /// Holds `block` at `index` instead of the block there.
  void replace(int index, BlockId block);
  /// Gives back all blocks, last first, so that the end of a prefix is evicted before its
  /// beginning.
  void clear() { shrink(0); }
  /// Gives back the last blocks until `num_blocks` are left.
  void shrink(int num_blocks);

  [[nodiscard]] std::span<const BlockId> ids() const { return ids_; }
  [[nodiscard]] int size() const { return static_cast<int>(ids_.size()); }

 private:
  BlockPool* pool_;
  std::vector<BlockId> ids_;
};

}  // namespace paceline
