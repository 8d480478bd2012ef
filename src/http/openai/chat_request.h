#pragma once

#include <string_view>

#include "http/openai/chat_prompt.h"
#include "http/openai/generation_fields.h"

namespace paceline::openai {

/// Body of POST /v1/chat/completions after validation (API.md §3.1).
struct ChatRequest {
  GenerationFields fields;
  StreamFields stream;
  ChatPrompt prompt;
};

/// Parses and checks a body. Errors: the 400 rows of API.md §1.1, with the field's path.
[[nodiscard]] Result<ChatRequest> parse_chat_request(std::string_view body,
                                                     const ParseContext& context);

}  // namespace paceline::openai
