#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace paceline {

/// Whether the text of a special token (`<|im_start|>`) becomes that token or stays plain text.
enum class SpecialText { kPlain, kParse };

/// Piece of a prompt. Text written by a client is kPlain, text of the chat template is kParse.
struct TextSegment {
  std::string text;
  SpecialText special = SpecialText::kPlain;

  bool operator==(const TextSegment&) const = default;
};

/// Text ↔ token ids of one vocabulary. Immutable after construction; any thread.
class Tokenizer {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  virtual ~Tokenizer() = default;

  /// Encodes valid UTF-8 text; adds no begin token. Stops early once more than `max_tokens` ids are
  /// known, so the result has at most max_tokens + 1 ids when the text is too long. Requires:
  /// is_valid_utf8(text).
  [[nodiscard]] virtual std::vector<TokenId> encode(std::string_view text, SpecialText special,
                                                    std::size_t max_tokens = kNoLimit) const = 0;

  /// Encodes segments as one text: adjacent plain text is joined before splitting, so a boundary
  /// changes no id unless a special token stands there. `max_tokens` as in encode().
  [[nodiscard]] virtual std::vector<TokenId> encode_segments(
      std::span<const TextSegment> segments, std::size_t max_tokens = kNoLimit) const = 0;

  /// Returns the joined bytes of ids; control tokens are left out when `skip_control`. Not always
  /// valid UTF-8. Requires: every id is defined.
  [[nodiscard]] virtual std::string decode(std::span<const TokenId> ids,
                                           bool skip_control) const = 0;

  /// Returns the bytes a token stands for, the literal text for special tokens; valid as long as
  /// the tokenizer. Requires: is_defined(id).
  [[nodiscard]] virtual std::string_view token_bytes(TokenId id) const = 0;

  /// Number of defined ids; ids are 0 … vocab_size-1. The model's logit rows may be longer
  /// (padding).
  [[nodiscard]] virtual int vocab_size() const = 0;

  /// Special tokens that never appear in text (im_start, im_end, endoftext, …); merely added ones
  /// (`<tool_call>`) are not.
  [[nodiscard]] virtual bool is_control(TokenId id) const = 0;

  /// Returns the id whose literal text is `text` among special and added tokens.
  [[nodiscard]] virtual std::optional<TokenId> find_special(std::string_view text) const = 0;

  /// Ids that end a generation, in ascending order: the file's end token and, for Qwen, both im_end
  /// and endoftext.
  [[nodiscard]] virtual std::span<const TokenId> end_ids() const = 0;

  [[nodiscard]] bool is_defined(TokenId id) const { return raw(id) >= 0 && raw(id) < vocab_size(); }
};

}  // namespace paceline
