#include "tokenizer/special_tokens.h"

#include <set>

namespace paceline {

SpecialTokens::SpecialTokens(const Vocab& vocab) {
  std::set<std::size_t, std::greater<>> lengths;
  for (int i = 0; i < vocab.size(); ++i) {
    const TokenId id{i};
    if (vocab.type(id) == TokenType::kNormal) continue;
    const std::string_view text = vocab.bytes(id);
    ids_.emplace(text, id);
    lengths.insert(text.size());
    is_first_byte_[static_cast<unsigned char>(text.front())] = true;
  }
  lengths_.assign(lengths.begin(), lengths.end());
}

std::optional<SpecialTokens::Match> SpecialTokens::find_next(std::string_view text,
                                                             std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!is_first_byte_[static_cast<unsigned char>(text[begin])]) continue;
    for (const std::size_t length : lengths_) {
      if (length > text.size() - begin) continue;
      const auto found = ids_.find(text.substr(begin, length));
      if (found != ids_.end()) return Match{begin, begin + length, found->second};
    }
  }
  return std::nullopt;
}

std::optional<TokenId> SpecialTokens::find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace paceline
