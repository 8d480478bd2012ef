#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/model_config.h"

namespace paceline {

/// What a Hugging Face folder's config.json says.
struct HfConfig {
  /// Complete: vocab_rows is `vocab_size`, tied_embeddings `tie_word_embeddings` (absent: false).
  ModelConfig config;
  std::vector<std::int32_t> end_ids;  ///< `eos_token_id`, a number or a list
};

/// Reads and checks a config.json. Errors: kBadFile naming file and key; an architecture other than
/// dense Qwen2, and features that change the computation, are refused by name.
[[nodiscard]] Result<HfConfig> parse_hf_config(std::string_view text, const std::string& file,
                                               std::vector<std::string>& warnings);

/// Returns the `eos_token_id` of a generation_config.json, a number or a list; empty when absent.
/// Errors: kBadFile naming file and key.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_hf_end_ids(std::string_view text,
                                                                 const std::string& file);

/// Returns the `chat_template` of a tokenizer_config.json: its text, or the one named `default` of
/// a list; empty when absent. Errors: kBadFile naming file and key.
[[nodiscard]] Result<std::string> parse_hf_chat_template(std::string_view text,
                                                         const std::string& file);

}  // namespace paceline
