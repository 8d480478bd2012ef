#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace paceline {

/// Which blocks of the KV cache are in use, by reference count, and in which order the others are
/// taken. Block numbers only; owns no tensor memory. Owned by the Scheduler; engine thread.
///
/// A block nobody holds is in the free queue, in the order of eviction: blocks without reusable
/// content in front, then cached ones, least recently released first.
class BlockPool {
 public:
  /// Requires: num_blocks > 0.
  explicit BlockPool(int num_blocks);

  /// Takes the first block of the free queue with one reference; nothing when none is left. The
  /// block may still be marked cached: the caller makes the prefix cache forget it.
  [[nodiscard]] std::optional<BlockId> take();
  /// Adds a reference; a free block leaves the free queue with its content.
  void add_reference(BlockId block);
  /// Gives a reference back. Requires: ref_count(block) > 0.
  void release(BlockId block);
  /// States whether the block's content can be reused. Requires: ref_count(block) > 0.
  void set_cached(BlockId block, bool cached);

  [[nodiscard]] int num_blocks() const { return static_cast<int>(states_.size()); }
  /// Blocks nobody holds, cached ones included: what take() can still give.
  [[nodiscard]] int num_free() const { return num_free_; }
  /// Of these, blocks with reusable content.
  [[nodiscard]] int num_free_cached() const { return num_free_cached_; }
  [[nodiscard]] int ref_count(BlockId block) const { return state(block).ref_count; }
  [[nodiscard]] bool is_cached(BlockId block) const { return state(block).cached; }
  /// Cached blocks taken for new content so far.
  [[nodiscard]] std::uint64_t num_evictions() const { return num_evictions_; }
  /// Free blocks in the order in which they would be taken.
  [[nodiscard]] std::vector<BlockId> free_order() const;

 private:
  static constexpr std::int32_t kEnd = -1;
  struct State {
    std::int32_t ref_count = 0;
    std::int32_t previous = kEnd;  ///< links of the free queue
    std::int32_t next = kEnd;
    bool cached = false;
  };
  [[nodiscard]] State& state(BlockId block) { return states_[index_of(block)]; }
  [[nodiscard]] const State& state(BlockId block) const { return states_[index_of(block)]; }
  void push_front(BlockId block);
  void push_back(BlockId block);
  void unlink(BlockId block);

  std::vector<State> states_;
  std::int32_t first_free_ = kEnd;
  std::int32_t last_free_ = kEnd;
  int num_free_ = 0;
  int num_free_cached_ = 0;
  std::uint64_t num_evictions_ = 0;
};

}  // namespace paceline
