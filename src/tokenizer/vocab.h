#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Ids ↔ bytes of one vocabulary. Unused entries at the end (padding of the embedding table) are
/// not defined ids. Immutable; any thread.
class Vocab {
 public:
  /// Errors: kBadFile for no tokens, types that do not match the tokens, an unknown token type, an
  /// unused entry before a used one, an empty or repeated token, or a normal token that is not
  /// written in the byte-level alphabet.
  [[nodiscard]] static Result<Vocab> make(const TokenizerSpec& spec);

  /// Number of defined ids.
  [[nodiscard]] int size() const { return static_cast<int>(types_.size()); }

  /// Bytes of a normal token, literal text of a special one; valid as long as the vocabulary.
  /// Requires: 0 <= id < size().
  [[nodiscard]] std::string_view bytes(TokenId id) const;

  [[nodiscard]] TokenType type(TokenId id) const { return types_[index_of(id)]; }

 private:
  Vocab() = default;

  std::string bytes_;                 // of all tokens, one after the other
  std::vector<std::size_t> offsets_;  // [size + 1] into bytes_
  std::vector<TokenType> types_;      // [size]
};

}  // namespace paceline
