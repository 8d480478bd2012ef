#include "kvpool/block_pool.h"

#include <cstddef>

#include "base/check.h"

namespace paceline {

BlockPool::BlockPool(int num_blocks) : states_(static_cast<std::size_t>(num_blocks)) {
  CHECK(num_blocks > 0);
  for (int i = 0; i < num_blocks; ++i) push_back(BlockId{i});
}

std::optional<BlockId> BlockPool::take() {
  if (first_free_ == kEnd) return std::nullopt;
  const BlockId block{first_free_};
  unlink(block);
  state(block).ref_count = 1;
  if (state(block).cached) ++num_evictions_;
  return block;
}

void BlockPool::add_reference(BlockId block) {
  if (state(block).ref_count == 0) unlink(block);
  ++state(block).ref_count;
}

void BlockPool::release(BlockId block) {
  State& s = state(block);
  CHECK(s.ref_count > 0);
  if (--s.ref_count > 0) return;
  if (s.cached) {
    push_back(block);
  } else {
    push_front(block);
  }
}

void BlockPool::set_cached(BlockId block, bool cached) {
  DCHECK(state(block).ref_count > 0);
  state(block).cached = cached;
}

std::vector<BlockId> BlockPool::free_order() const {
  std::vector<BlockId> order;
  order.reserve(static_cast<std::size_t>(num_free_));
  for (std::int32_t i = first_free_; i != kEnd; i = state(BlockId{i}).next) {
    order.push_back(BlockId{i});
  }
  return order;
}

void BlockPool::push_front(BlockId block) {
  State& s = state(block);
  s.previous = kEnd;
  s.next = first_free_;
  (first_free_ == kEnd ? last_free_ : state(BlockId{first_free_}).previous) = raw(block);
  first_free_ = raw(block);
  ++num_free_;
  if (s.cached) ++num_free_cached_;
}

void BlockPool::push_back(BlockId block) {
  State& s = state(block);
  s.next = kEnd;
  s.previous = last_free_;
  (last_free_ == kEnd ? first_free_ : state(BlockId{last_free_}).next) = raw(block);
  last_free_ = raw(block);
  ++num_free_;
  if (s.cached) ++num_free_cached_;
}

void BlockPool::unlink(BlockId block) {
  State& s = state(block);
  (s.previous == kEnd ? first_free_ : state(BlockId{s.previous}).next) = s.next;
  (s.next == kEnd ? last_free_ : state(BlockId{s.next}).previous) = s.previous;
  s.previous = s.next = kEnd;
  --num_free_;
  if (s.cached) --num_free_cached_;
}

}  // namespace paceline
