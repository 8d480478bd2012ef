#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/vocab.h"

namespace paceline {

/// Lower bound of the number of tokens of a word, without tokenising it: a token that starts with
/// two given bytes is no longer than the longest token of the vocabulary that starts with them.
/// Lets a word of many megabytes be refused in linear time. Immutable; any thread.
class TokenCountBound {
 public:
  explicit TokenCountBound(const Vocab& vocab);

  /// Returns whether every split of `word` into tokens has more than `max_tokens` of them, as far
  /// as the bound can tell: true is certain, false is not.
  [[nodiscard]] bool exceeds(std::string_view word, std::size_t max_tokens) const;

 private:
  std::vector<std::uint32_t> longest_;  // [256 * 256] bytes, by the first two bytes
};

}  // namespace paceline
