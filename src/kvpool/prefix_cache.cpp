#include "kvpool/prefix_cache.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace paceline {

PrefixCache::PrefixCache(BlockPool& pool, int block_size, std::uint64_t seed,
                         BlockHashFunction hash)
    : pool_(pool),
      block_size_(static_cast<std::size_t>(block_size)),
      seed_(seed),
      hash_(hash),
      entries_(static_cast<std::size_t>(pool.num_blocks())),
      tokens_(entries_.size() * block_size_),
      buckets_(std::bit_ceil(entries_.size() * 2), kNone) {
  CHECK(block_size > 0);
}

void PrefixCache::match(std::string_view salt, std::span<const TokenId> tokens, int max_tokens,
                        PrefixMatch& match) const {
  match.blocks.clear();
  match.partial.reset();
  auto rest = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(max_tokens)));

  std::int32_t parent = kNone;
  BlockHash hash = hash_salt(seed_, salt);
  while (rest.size() >= block_size_) {
    const auto block_tokens = rest.first(block_size_);
    hash = hash_(hash, block_tokens);
    const std::int32_t found = find(salt, parent, hash, block_tokens);
    if (found == kNone) break;
    match.blocks.push_back(BlockId{found});
    parent = found;
    rest = rest.subspan(block_size_);
  }
  match.partial = find_partial(salt, parent, rest);
}

BlockId PrefixCache::insert(std::string_view salt, std::optional<BlockId> parent,
                            std::span<const TokenId> tokens, BlockId block) {
  DCHECK(tokens.size() == block_size_);
  DCHECK(!pool_.is_cached(block));
  DCHECK(!parent || pool_.is_cached(*parent));
  const std::int32_t parent_index = parent ? raw(*parent) : kNone;
  const BlockHash hash = hash_(parent ? entry(raw(*parent)).hash : hash_salt(seed_, salt), tokens);
  const std::int32_t equal = find(salt, parent_index, hash, tokens);
  if (equal != kNone) return BlockId{equal};

  const std::int32_t index = raw(block);
  Entry& e = entry(index);
  e.hash = hash;
  e.parent = parent_index;
  if (!parent) e.salt = salt;
  std::ranges::copy(tokens, tokens_.begin() + index * static_cast<std::ptrdiff_t>(block_size_));

  std::int32_t& bucket = buckets_[bucket_of(hash)];
  e.next_in_bucket = bucket;
  bucket = index;

  std::int32_t& first_child = first_child_of(parent_index);
  e.next_sibling = first_child;
  if (first_child != kNone) entry(first_child).previous_sibling = index;
  first_child = index;

  pool_.set_cached(block, true);
  return block;
}

void PrefixCache::forget(BlockId block) {
  if (!pool_.is_cached(block)) return;
  const std::int32_t index = raw(block);
  Entry& e = entry(index);
  DCHECK(e.first_child == kNone);

  std::int32_t* link = &buckets_[bucket_of(e.hash)];
  while (*link != index) link = &entry(*link).next_in_bucket;
  *link = e.next_in_bucket;

  (e.previous_sibling == kNone ? first_child_of(e.parent)
                               : entry(e.previous_sibling).next_sibling) = e.next_sibling;
  if (e.next_sibling != kNone) entry(e.next_sibling).previous_sibling = e.previous_sibling;

  e = Entry{};
  pool_.set_cached(block, false);
}

std::optional<BlockId> PrefixCache::parent(BlockId block) const {
  const std::int32_t parent = entry(raw(block)).parent;
  if (parent == kNone) return std::nullopt;
  return BlockId{parent};
}

std::span<const TokenId> PrefixCache::tokens_of(std::int32_t block) const {
  return std::span(tokens_).subspan(static_cast<std::size_t>(block) * block_size_, block_size_);
}

std::size_t PrefixCache::bucket_of(BlockHash hash) const {
  return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
}

std::int32_t PrefixCache::find(std::string_view salt, std::int32_t parent, BlockHash hash,
                               std::span<const TokenId> tokens) const {
  std::int32_t index = buckets_[bucket_of(hash)];
  for (; index != kNone; index = entry(index).next_in_bucket) {
    const Entry& e = entry(index);
    if (e.hash == hash && e.parent == parent && (parent != kNone || e.salt == salt) &&
        std::ranges::equal(tokens_of(index), tokens)) {
      break;
    }
  }
  return index;
}

std::optional<PrefixMatch::Partial> PrefixCache::find_partial(
    std::string_view salt, std::int32_t parent, std::span<const TokenId> tokens) const {
  std::optional<PrefixMatch::Partial> best;
  std::int32_t index = parent == kNone ? first_root_ : entry(parent).first_child;
  for (int i = 0; i < kMaxChildrenCompared && index != kNone; ++i) {
    const auto cached = tokens_of(index);
    const auto length =
        static_cast<int>(std::ranges::mismatch(cached, tokens).in1 - cached.begin());
    const bool same_salt = parent != kNone || entry(index).salt == salt;
    if (same_salt && length > (best ? best->num_tokens : 0)) {
      best = PrefixMatch::Partial{BlockId{index}, length};
    }
    index = entry(index).next_sibling;
  }
  return best;
}

}  // namespace paceline
