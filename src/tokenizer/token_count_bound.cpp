#include "tokenizer/token_count_bound.h"

#include <algorithm>

namespace paceline {
namespace {

std::size_t pair_at(std::string_view text, std::size_t i) {
  return static_cast<std::size_t>(static_cast<unsigned char>(text[i])) << 8 |
         static_cast<unsigned char>(text[i + 1]);
}

}  // namespace

TokenCountBound::TokenCountBound(const Vocab& vocab) : longest_(256 * 256, 1) {
  for (int i = 0; i < vocab.size(); ++i) {
    const std::string_view bytes = vocab.bytes(TokenId{i});
    if (vocab.type(TokenId{i}) != TokenType::kNormal || bytes.size() < 2) continue;
    auto& longest = longest_[pair_at(bytes, 0)];
    longest = std::max(longest, static_cast<std::uint32_t>(bytes.size()));
  }
}

bool TokenCountBound::exceeds(std::string_view word, std::size_t max_tokens) const {
  // `covered` is the furthest end of any split into `num_tokens` tokens, `reach` into one more.
  std::size_t num_tokens = 0;
  std::size_t covered = 0;
  std::size_t reach = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    reach = std::max(reach, i + (i + 1 < word.size() ? longest_[pair_at(word, i)] : 1));
    if (i < covered) continue;
    if (++num_tokens > max_tokens) return true;
    covered = reach;
  }
  return false;
}

}  // namespace paceline
