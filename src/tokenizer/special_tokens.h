#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "tokenizer/vocab.h"

namespace paceline {

/// Finds the literal texts of control and user-defined tokens. Views the vocabulary's bytes, which
/// must outlive it. Immutable; any thread.
class SpecialTokens {
 public:
  struct Match {
    std::size_t begin;  // bytes
    std::size_t end;
    TokenId id;
  };

  explicit SpecialTokens(const Vocab& vocab);

  /// Returns the first special token at or after `from`, the longest when several start there.
  [[nodiscard]] std::optional<Match> find_next(std::string_view text, std::size_t from) const;

  /// Returns the special token whose literal text is exactly `text`.
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
  std::vector<std::size_t> lengths_;  // distinct, longest first
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace paceline
