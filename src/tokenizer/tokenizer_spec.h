#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paceline {

/// Kind of a vocabulary entry; the numbers are GGUF's `tokenizer.ggml.token_type`.
enum class TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

/// Everything a BPE tokenizer is built from, as plain data: filled from GGUF metadata or
/// tokenizer.json.
struct TokenizerSpec {
  /// Pieces in the byte-level alphabet (special tokens literally), index = id.
  std::vector<std::string> tokens;
  /// One per token; empty means all normal.
  std::vector<TokenType> types;
  /// Pairs in rank order, best first, in the byte-level alphabet.
  std::vector<std::pair<std::string, std::string>> merges;
  /// Name of the split pattern: `qwen2`. Empty when the file does not say.
  std::string pre_tokenizer;
  /// End token ids named by the file.
  std::vector<std::int32_t> end_ids;
  /// Jinja text of the chat template, for recognising its family; empty when the file has none.
  std::string chat_template;
};

}  // namespace paceline
