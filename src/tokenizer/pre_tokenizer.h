#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"

namespace paceline {

/// Splits text into the words within which BPE merges, by the model's own pattern. Immutable; any
/// thread.
class PreTokenizer {
 public:
  /// `name` is `qwen2`, or empty for the same. Errors: kBadFile naming an unknown pattern.
  [[nodiscard]] static Result<PreTokenizer> make(std::string_view name);

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  /// Calls `visit` with every word from left to right, until it returns false. The words joined are
  /// the text. Linear in the length. Requires: is_valid_utf8(text). Throws std::bad_alloc, and
  /// std::runtime_error when the matcher gives up (its limits allow any text a linear search can
  /// take).
  void split(std::string_view text, FunctionRef<bool(std::string_view word)> visit) const;

 private:
  struct Pattern;
  explicit PreTokenizer(std::unique_ptr<const Pattern> pattern);

  std::unique_ptr<const Pattern> pattern_;
};

/// The split pattern of the Qwen2 family as tokenizer.json writes it, for recognising it there.
[[nodiscard]] std::string_view qwen2_split_pattern();

}  // namespace paceline
