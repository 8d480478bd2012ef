#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace paceline::openai {

/// How clients see an ErrorCode: one row of API.md §1.1.
struct ErrorKind {
  int http_status = 500;
  std::string_view type;
  std::string_view code;
  bool retry_after = false;  ///< `retry-after` and `retry-after-ms` belong to the answer
  bool never_retry = false;  ///< `x-should-retry: false` belongs to the answer
  bool closes = false;       ///< the connection is closed after the answer
};

/// The one table from codes to answers. Codes that are no client's business (kBadFile, kIo,
/// kBadConfig) look like kInternalError.
[[nodiscard]] ErrorKind error_kind(ErrorCode code);

/// Appends the object with the four keys `message`, `type`, `param`, `code`.
void append_error_object(std::string& out, const Error& error);
/// Body of an error answer and of an error event in a stream: `{"error":{…}}`.
[[nodiscard]] std::string error_body(const Error& error);
/// Error frame of the WebSocket (API.md §5.3); `stream_id` null is the default lane.
[[nodiscard]] std::string websocket_error(const Error& error, const std::string* stream_id,
                                          std::optional<std::chrono::milliseconds> retry_after);

}  // namespace paceline::openai
