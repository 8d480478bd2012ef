#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "http/openai/generation_fields.h"

namespace paceline::openai {

/// Text whose special tokens are parsed, or token ids (not empty, all defined).
using CompletionPrompt = std::variant<std::string, std::vector<TokenId>>;

/// Body of POST /v1/completions after validation (API.md §4). `fields.sampling.logprobs` and
/// `top_logprobs` hold the legacy `logprobs`; `fields.max_tokens` is always set (default 16).
struct CompletionRequest {
  GenerationFields fields;
  StreamFields stream;
  std::vector<CompletionPrompt> prompts;  ///< 1 … 128; prompts × n ≤ 128
  bool echo = false;
};

/// Parses and checks a body. Errors: the 400 rows of API.md §1.1, with the field's path.
[[nodiscard]] Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                                 const ParseContext& context);

}  // namespace paceline::openai
