#include "kvpool/block_reservation.h"

#include <cstddef>

#include "base/check.h"

namespace paceline {

bool BlockReservation::extend(int num_blocks) {
  if (pool_.num_free() < num_blocks) return false;
  for (int i = 0; i < num_blocks; ++i) {
    const BlockId block = *pool_.take();
    cache_.forget(block);
    blocks_.push_back(block);
    committed_.push_back(false);
  }
  return true;
}

void BlockReservation::pin(BlockId block) {
  pool_.add_reference(block);
  pinned_.push_back(block);
}

void BlockReservation::commit(int first, int count, BlockTable& table) {
  for (int i = first; i < first + count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    CHECK(!committed_[index]);
    committed_[index] = true;
    table.adopt(blocks_[index]);
  }
}

void BlockReservation::release() {
  for (const BlockId block : pinned_) pool_.release(block);
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    if (!committed_[i]) pool_.release(blocks_[i]);
  }
  pinned_.clear();
  blocks_.clear();
  committed_.clear();
}

}  // namespace paceline
