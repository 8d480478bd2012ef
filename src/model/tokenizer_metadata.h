#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace paceline {

/// What a model file says about its tokenizer, as plain data; the app hands it to the tokenizer
/// module, which checks that pieces and merges fit together. A GGUF carries the vocabulary itself;
/// a Hugging Face folder carries a tokenizer.json, whose path is given instead and whose fields
/// here stay empty.
struct TokenizerMetadata {
  /// Pieces in the byte-level alphabet, index = id.
  std::vector<std::string> tokens;
  /// One of GGUF's token_type numbers per token; empty when the file has none.
  std::vector<std::int32_t> types;
  /// Pairs in rank order, best first.
  std::vector<std::pair<std::string, std::string>> merges;
  /// `tokenizer.ggml.pre`, such as `qwen2`; empty when the file does not say.
  std::string pre_tokenizer;
  /// End token ids named by the file (or by generation_config.json), without repeats.
  std::vector<std::int32_t> end_ids;
  /// Jinja text of the chat template; empty when there is none.
  std::string chat_template;
  /// tokenizer.json of a Hugging Face folder; empty for a GGUF.
  std::filesystem::path tokenizer_json;
};

}  // namespace paceline
