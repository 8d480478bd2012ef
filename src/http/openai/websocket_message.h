#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/openai/response_request.h"

namespace paceline::openai {

/// `response.create` (API.md §5.3).
struct CreateMessage {
  ResponseRequest request;
  bool generate = true;  ///< false: prefill only
  bool include_rate_limits = false;
};
/// `response.cancel`: that response, else everything of the lane.
struct CancelMessage {
  std::optional<std::string> response_id = {};
};

/// One client message of the WebSocket. `stream_id` is set as soon as it could be read, so that an
/// error can be answered in its lane; absent is the default lane.
struct ClientMessage {
  std::optional<std::string> stream_id = {};
  Result<std::variant<CreateMessage, CancelMessage>> content;
};

/// Parses one text message. Never fails as a whole: what is wrong is in `content`.
[[nodiscard]] ClientMessage parse_client_message(std::string_view text,
                                                 const ParseContext& context);

/// Whether `text` is 1 – 256 of [A-Za-z0-9_.-].
[[nodiscard]] bool is_valid_stream_id(std::string_view text);

}  // namespace paceline::openai
