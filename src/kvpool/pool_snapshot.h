#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kvpool/block_pool.h"
#include "kvpool/prefix_cache.h"

namespace paceline {

/// Copied state of pool and prefix cache, on which each rule is checked once.
struct PoolSnapshot {
  struct Block {
    int ref_count = 0;
    bool cached = false;
    std::optional<BlockId> parent = {};
  };
  std::vector<Block> blocks;        ///< by block
  std::vector<BlockId> free_order;  ///< in the order of eviction
};

[[nodiscard]] PoolSnapshot take_snapshot(const BlockPool& pool, const PrefixCache& cache);

/// Returns a sentence for each rule that the state breaks; empty when all hold:
/// every reference has a holder; free = not held, each once; uncached before cached in the free
/// queue; a cached block's parent is cached, held when the child is, evicted later when it is not.
/// `holders` lists the blocks of each table, reservation and pin; a block may be in several.
[[nodiscard]] std::vector<std::string> check_invariants(
    const PoolSnapshot& pool, std::span<const std::span<const BlockId>> holders);

}  // namespace paceline
