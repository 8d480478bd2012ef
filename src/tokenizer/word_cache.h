#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace paceline {

/// Remembers the ids of short words, since natural text repeats them. A fixed table in which a word
/// has one place and replaces the word there, so memory is bounded whatever clients send, and a
/// lookup costs one short lock. Any thread.
class WordCache {
 public:
  static constexpr std::size_t kMaxWordBytes = 30;
  static constexpr std::size_t kMaxIds = 8;

  /// Allocates 64 bytes per place. Requires: num_places is a power of two.
  explicit WordCache(std::size_t num_places);

  /// Appends the ids of `word` to `ids` and returns true, or returns false when it is not known.
  [[nodiscard]] bool append_known(std::string_view word, std::vector<TokenId>& ids) const;

  /// Remembers a word; longer words and longer id lists than the limits are passed over.
  void remember(std::string_view word, std::span<const TokenId> ids);

 private:
  struct Place {
    std::array<char, kMaxWordBytes> word;
    std::uint8_t word_bytes = 0;  // 0 = free
    std::uint8_t num_ids = 0;
    std::array<TokenId, kMaxIds> ids;
  };
  static_assert(sizeof(Place) == 64);
  static constexpr std::size_t kNumLocks = 64;

  [[nodiscard]] std::size_t place_of(std::string_view word) const;

  std::vector<Place> places_;
  mutable std::array<std::mutex, kNumLocks> locks_;  // place i is guarded by lock i % kNumLocks
};

}  // namespace paceline
