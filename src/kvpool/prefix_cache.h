#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "kvpool/block_hash.h"
#include "kvpool/block_pool.h"

namespace paceline {

/// What the cache holds of a prompt: whole blocks from position 0, then the beginning of one more
/// that can be reused by copy. Nothing is held for the caller.
struct PrefixMatch {
  std::vector<BlockId> blocks;  ///< full blocks in order of position
  struct Partial {
    BlockId source;
    int num_tokens;  ///< 1 … block_size-1, or fewer than asked for of a whole block
  };
  std::optional<Partial> partial;
};

/// Finds blocks whose content equals a prompt's beginning: a tree of full blocks, searched by a
/// hash chained over salt, parent and tokens, verified by salt, parent and tokens. Marks its blocks
/// in the pool and keeps no reference: a block stays findable until the pool gives it to somebody
/// else. Owned by the Scheduler; engine thread.
///
/// Invariant: the parent of a cached block is cached; whoever holds a block holds its parents, so
/// the end of a prefix is evicted before its beginning.
class PrefixCache {
 public:
  /// Requires: block_size > 0. The pool outlives the cache.
  PrefixCache(BlockPool& pool, int block_size, std::uint64_t seed,
              BlockHashFunction hash = &hash_block);

  /// Fills `match` with the longest cached beginning of `tokens`, at most `max_tokens` long.
  void match(std::string_view salt, std::span<const TokenId> tokens, int max_tokens,
             PrefixMatch& match) const;

  /// Makes a computed block findable behind `parent` (behind `salt` for a first block). Returns the
  /// block that stands for this content from now on: `block`, or an equal one that was there
  /// before. Requires: tokens.size() == block_size; the caller holds block and parent.
  BlockId insert(std::string_view salt, std::optional<BlockId> parent,
                 std::span<const TokenId> tokens, BlockId block);

  /// Removes a block that the pool has given away for new content; no effect on an unknown one.
  void forget(BlockId block);

  /// Cached block before `block`; nothing for a first or an uncached block.
  [[nodiscard]] std::optional<BlockId> parent(BlockId block) const;

 private:
  static constexpr std::int32_t kNone = -1;
  /// Bounds the search for a partial match: newest children first.
  static constexpr int kMaxChildrenCompared = 32;

  struct Entry {
    BlockHash hash{};
    std::int32_t parent = kNone;
    std::int32_t first_child = kNone;
    std::int32_t previous_sibling = kNone;
    std::int32_t next_sibling = kNone;
    std::int32_t next_in_bucket = kNone;
    std::string salt = {};  ///< of first blocks
  };

  [[nodiscard]] Entry& entry(std::int32_t block) {
    return entries_[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] const Entry& entry(std::int32_t block) const {
    return entries_[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] std::span<const TokenId> tokens_of(std::int32_t block) const;
  [[nodiscard]] std::size_t bucket_of(BlockHash hash) const;
  [[nodiscard]] std::int32_t find(std::string_view salt, std::int32_t parent, BlockHash hash,
                                  std::span<const TokenId> tokens) const;
  [[nodiscard]] std::optional<PrefixMatch::Partial> find_partial(
      std::string_view salt, std::int32_t parent, std::span<const TokenId> tokens) const;
  [[nodiscard]] std::int32_t& first_child_of(std::int32_t parent) {
    return parent == kNone ? first_root_ : entry(parent).first_child;
  }

  BlockPool& pool_;
  const std::size_t block_size_;
  const std::uint64_t seed_;
  const BlockHashFunction hash_;
  std::vector<Entry> entries_;         ///< by block
  std::vector<TokenId> tokens_;        ///< [num_blocks, block_size]
  std::vector<std::int32_t> buckets_;  ///< first block of each; a power of two of them
  std::int32_t first_root_ = kNone;
};

}  // namespace paceline
