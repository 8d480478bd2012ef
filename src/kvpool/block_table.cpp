#include "kvpool/block_table.h"

#include <cstddef>
#include <utility>

namespace paceline {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_), ids_(std::exchange(other.ids_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this != &other) {
    clear();
    pool_ = other.pool_;
    ids_ = std::exchange(other.ids_, {});
  }
  return *this;
}

void BlockTable::share(BlockId block) {
  pool_->add_reference(block);
  ids_.push_back(block);
}

void BlockTable::replace(int index, BlockId block) {
  BlockId& held = ids_[static_cast<std::size_t>(index)];
  pool_->add_reference(block);
  pool_->release(held);
  held = block;
}

void BlockTable::shrink(int num_blocks) {
  while (size() > num_blocks) {
    pool_->release(ids_.back());
    ids_.pop_back();
  }
}

}  // namespace paceline
