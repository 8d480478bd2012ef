#pragma once

#include <string>

#include "base/ids.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// Turns the tokens of one sequence into text as they come, never splitting a character: bytes that
/// may still become one are held back. All texts joined, the flush included, are
/// to_lossy_utf8(decode(ids)). Owned by the sequence's output; one thread.
class IncrementalDetokenizer {
 public:
  /// `tokenizer` must outlive this. Control tokens give no text when `skip_control`.
  IncrementalDetokenizer(const Tokenizer& tokenizer, bool skip_control)
      : tokenizer_(tokenizer), skip_control_(skip_control) {}

  /// Adds a token and returns the text that is now certain, maybe none. Bytes that can never become
  /// a character give U+FFFD. Requires: the id is defined.
  [[nodiscard]] std::string append(TokenId id);

  /// Ends the text: returns U+FFFD when it stops within a character, else nothing.
  [[nodiscard]] std::string flush();

 private:
  const Tokenizer& tokenizer_;
  const bool skip_control_;
  std::string pending_;  // the beginning of a character, at most three bytes
};

}  // namespace paceline
