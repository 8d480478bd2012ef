#include "kvpool/pool_snapshot.h"

#include <algorithm>
#include <cstddef>

namespace paceline {
namespace {

using Violations = std::vector<std::string>;

std::string name(std::size_t block) { return "block " + std::to_string(block); }

void check_references(const PoolSnapshot& pool, std::span<const std::span<const BlockId>> holders,
                      Violations& broken) {
  std::vector<int> held(pool.blocks.size(), 0);
  for (const auto holder : holders) {
    for (const BlockId block : holder) ++held[index_of(block)];
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] != pool.blocks[i].ref_count) {
      broken.push_back(name(i) + " counts " + std::to_string(pool.blocks[i].ref_count) +
                       " references and has " + std::to_string(held[i]) + " holders");
    }
  }
}

/// Returns each block's place in the free queue; the queue's length for blocks that are not in it.
std::vector<std::size_t> check_free_queue(const PoolSnapshot& pool, Violations& broken) {
  const std::size_t absent = pool.free_order.size();
  std::vector<std::size_t> place(pool.blocks.size(), absent);
  bool cached_seen = false;
  for (std::size_t i = 0; i < pool.free_order.size(); ++i) {
    const std::size_t block = index_of(pool.free_order[i]);
    if (place[block] != absent) broken.push_back(name(block) + " is free twice");
    place[block] = i;
    if (cached_seen && !pool.blocks[block].cached) {
      broken.push_back(name(block) + " has no content and is behind cached ones");
    }
    cached_seen = cached_seen || pool.blocks[block].cached;
  }
  for (std::size_t i = 0; i < place.size(); ++i) {
    if ((place[i] != absent) != (pool.blocks[i].ref_count == 0)) {
      broken.push_back(name(i) + " is both held and free, or neither");
    }
  }
  return place;
}

void check_tree(const PoolSnapshot& pool, const std::vector<std::size_t>& place,
                Violations& broken) {
  for (std::size_t i = 0; i < pool.blocks.size(); ++i) {
    const PoolSnapshot::Block& block = pool.blocks[i];
    if (!block.cached || !block.parent) continue;
    const std::size_t p = index_of(*block.parent);
    const PoolSnapshot::Block& parent = pool.blocks[p];
    if (!parent.cached) broken.push_back(name(i) + " is cached and its parent is not");
    if (parent.ref_count > 0) continue;
    if (block.ref_count > 0) broken.push_back(name(i) + " is held and its parent is not");
    if (block.ref_count == 0 && place[p] < place[i]) {
      broken.push_back(name(i) + " would be evicted after its parent");
    }
  }
}

}  // namespace

PoolSnapshot take_snapshot(const BlockPool& pool, const PrefixCache& cache) {
  PoolSnapshot snapshot;
  snapshot.blocks.reserve(static_cast<std::size_t>(pool.num_blocks()));
  for (int i = 0; i < pool.num_blocks(); ++i) {
    const BlockId block{i};
    snapshot.blocks.push_back({pool.ref_count(block), pool.is_cached(block), cache.parent(block)});
  }
  snapshot.free_order = pool.free_order();
  return snapshot;
}

std::vector<std::string> check_invariants(const PoolSnapshot& pool,
                                          std::span<const std::span<const BlockId>> holders) {
  Violations broken;
  check_references(pool, holders, broken);
  const auto place = check_free_queue(pool, broken);
  check_tree(pool, place, broken);
  return broken;
}

}  // namespace paceline
