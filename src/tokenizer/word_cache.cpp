#include "tokenizer/word_cache.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace paceline {

WordCache::WordCache(std::size_t num_places) : places_(num_places) {
  CHECK(num_places > 0 && (num_places & (num_places - 1)) == 0);
}

bool WordCache::append_known(std::string_view word, std::vector<TokenId>& ids) const {
  if (word.size() > kMaxWordBytes) return false;
  const std::size_t i = place_of(word);
  const Place& place = places_[i];
  const std::lock_guard lock(locks_[i % kNumLocks]);
  if (std::string_view(place.word.data(), place.word_bytes) != word) return false;
  ids.insert(ids.end(), place.ids.begin(), place.ids.begin() + place.num_ids);
  return true;
}

void WordCache::remember(std::string_view word, std::span<const TokenId> ids) {
  if (word.empty() || word.size() > kMaxWordBytes || ids.size() > kMaxIds) return;
  const std::size_t i = place_of(word);
  Place& place = places_[i];
  const std::lock_guard lock(locks_[i % kNumLocks]);
  std::copy(word.begin(), word.end(), place.word.begin());
  std::copy(ids.begin(), ids.end(), place.ids.begin());
  place.word_bytes = static_cast<std::uint8_t>(word.size());
  place.num_ids = static_cast<std::uint8_t>(ids.size());
}

std::size_t WordCache::place_of(std::string_view word) const {
  return std::hash<std::string_view>{}(word) & (places_.size() - 1);
}

}  // namespace paceline
