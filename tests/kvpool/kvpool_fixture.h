#pragma once

#include <gmock/gmock.h>

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kvpool/block_reservation.h"
#include "kvpool/block_table.h"
#include "kvpool/pool_snapshot.h"
#include "kvpool/prefix_cache.h"

namespace paceline {

/// Returns `count` token ids: first, first + 1, …
inline std::vector<TokenId> token_run(int first, int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(TokenId{first + i});
  return tokens;
}

inline std::vector<TokenId> join(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline BlockHash constant_hash(BlockHash, std::span<const TokenId>) { return BlockHash{7}; }
inline BlockHash four_bit_hash(BlockHash parent, std::span<const TokenId> tokens) {
  return BlockHash{static_cast<std::uint64_t>(hash_block(parent, tokens)) & 15};
}

/// A pool with its cache, and the two things every user does: compute tokens into a table and look
/// a prompt up.
struct PoolWithCache {
  PoolWithCache(int num_blocks, int block_size_tokens, BlockHashFunction hash = &hash_block)
      : block_size(block_size_tokens), pool(num_blocks), cache(pool, block_size_tokens, 42, hash) {}

  /// Fills `table` with blocks for all of `tokens`: cached full ones first, new ones behind, the
  /// full ones of which become cached. Returns the number of tokens found in the cache.
  int compute(const std::string& salt, const std::vector<TokenId>& tokens, BlockTable& table) {
    PrefixMatch match;
    cache.match(salt, tokens, static_cast<int>(tokens.size()) - 1, match);
    for (const BlockId block : match.blocks) table.share(block);
    BlockReservation reservation(pool, cache);
    const int num_blocks = (static_cast<int>(tokens.size()) + block_size - 1) / block_size;
    if (!reservation.extend(num_blocks - table.size())) return -1;
    reservation.commit(0, reservation.size(), table);
    for (int i = static_cast<int>(match.blocks.size());
         (i + 1) * block_size <= static_cast<int>(tokens.size()); ++i) {
      std::optional<BlockId> parent;
      if (i > 0) parent = table.ids()[static_cast<std::size_t>(i - 1)];
      const BlockId own = table.ids()[static_cast<std::size_t>(i)];
      const BlockId canonical =
          cache.insert(salt, parent,
                       std::span(tokens).subspan(static_cast<std::size_t>(i * block_size),
                                                 static_cast<std::size_t>(block_size)),
                       own);
      if (canonical != own) table.replace(i, canonical);
    }
    return static_cast<int>(match.blocks.size()) * block_size;
  }

  [[nodiscard]] PrefixMatch match(const std::string& salt,
                                  const std::vector<TokenId>& tokens) const {
    PrefixMatch match;
    cache.match(salt, tokens, static_cast<int>(tokens.size()) - 1, match);
    return match;
  }

  [[nodiscard]] std::vector<std::string> broken_rules(
      const std::vector<const BlockTable*>& tables) const {
    std::vector<std::span<const BlockId>> holders;
    for (const BlockTable* table : tables) holders.push_back(table->ids());
    return check_invariants(take_snapshot(pool, cache), holders);
  }

  int block_size;
  BlockPool pool;
  PrefixCache cache;
};

}  // namespace paceline
