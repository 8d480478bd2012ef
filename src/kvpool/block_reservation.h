#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "kvpool/block_pool.h"
#include "kvpool/block_table.h"
#include "kvpool/prefix_cache.h"

namespace paceline {

/// Blocks promised to one step: new ones to write to, and pinned ones to copy from. What is not
/// committed goes back to the pool, at the latest with the reservation. Reused from step to step;
/// engine thread.
class BlockReservation {
 public:
  BlockReservation(BlockPool& pool, PrefixCache& cache) : pool_(pool), cache_(cache) {}
  ~BlockReservation() { release(); }
  BlockReservation(const BlockReservation&) = delete;
  BlockReservation& operator=(const BlockReservation&) = delete;

  /// Reserves `num_blocks` more, evicting cached ones; returns false and changes nothing when
  /// fewer are free.
  [[nodiscard]] bool extend(int num_blocks);
  /// Keeps a cached block from eviction until release().
  void pin(BlockId block);
  /// Passes blocks [first, first + count) of the reservation on to a sequence.
  void commit(int first, int count, BlockTable& table);
  /// Gives back what was not committed, and all pins.
  void release();

  /// Blocks reserved since the last release(), in order; those committed included.
  [[nodiscard]] std::span<const BlockId> blocks() const { return blocks_; }
  [[nodiscard]] int size() const { return static_cast<int>(blocks_.size()); }
  [[nodiscard]] std::span<const BlockId> pinned() const { return pinned_; }

 private:
  BlockPool& pool_;
  PrefixCache& cache_;
  std::vector<BlockId> blocks_;
  std::vector<bool> committed_;  ///< by index into blocks_
  std::vector<BlockId> pinned_;
};

}  // namespace paceline
