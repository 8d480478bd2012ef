#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/openai/conversation_item.h"
#include "http/openai/generation_fields.h"
#include "http/openai/tool_definition.h"

namespace paceline::openai {

/// Fields of a Responses create after validation (API.md §5.1), over HTTP or WebSocket.
struct ResponseRequest {
  GenerationFields fields;
  std::vector<ConversationItem> input;
  std::optional<std::string> instructions = {};
  std::optional<std::string> previous_response_id = {};
  ToolFields tools;
  bool store = true;
  bool stream = false;            ///< HTTP only
  bool include_logprobs = false;  ///< `include` named message.output_text.logprobs
};

/// Parses the body of POST /v1/responses. Errors: the 400 rows of API.md §1.1.
[[nodiscard]] Result<ResponseRequest> parse_response_request(std::string_view body,
                                                             const ParseContext& context);

/// What POST /v1/responses/input_tokens counts.
struct InputTokensRequest {
  std::string model;
  std::vector<ConversationItem> input;
  std::optional<std::string> instructions = {};
  std::optional<std::string> previous_response_id = {};
  ToolFields tools;
};

/// Parses the body of POST /v1/responses/input_tokens. Errors: the 400 rows of API.md §1.1.
[[nodiscard]] Result<InputTokensRequest> parse_input_tokens_request(std::string_view body,
                                                                    const ParseContext& context);

/// Reads the fields of a create that HTTP and WebSocket share; `stream`, `background` and
/// `stream_options` are the caller's.
[[nodiscard]] ResponseRequest read_response_fields(FieldReader& reader,
                                                   const ParseContext& context);

}  // namespace paceline::openai
