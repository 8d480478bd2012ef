#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace paceline {

/// Methods that routes distinguish.
enum class HttpMethod { kGet, kHead, kPost, kDelete, kOptions, kOther };

struct HttpHeader {
  std::string name;
  std::string value;
};

/// Returns whether two ASCII texts are equal without regard to letter case.
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
/// Returns whether a comma-separated header value holds `token`, in any letter case.
[[nodiscard]] bool has_list_token(std::string_view list, std::string_view token);

/// A request as it came over the wire, checked for framing.
struct HttpRequest {
  HttpMethod method = HttpMethod::kOther;
  std::string method_text;
  /// Request target as sent; of an absolute form only what follows the authority.
  std::string target;
  /// Path segments, each percent-decoded once: `/` is {""}, `/v1/models` is {"v1", "models"}, `*`
  /// is {"*"} with is_asterisk.
  std::vector<std::string> path;
  bool is_asterisk = false;
  int minor_version = 1;  ///< HTTP/1.x
  std::vector<HttpHeader> headers = {};
  std::string body = {};

  /// Value of the first header called `name` (any letter case).
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] int count(std::string_view name) const;
  /// Whether the client asks to speak WebSocket.
  [[nodiscard]] bool is_websocket_upgrade() const;
};

/// An answer whose body is complete. Header names are lower case; content-length is added when it
/// is written.
struct HttpResponse {
  int status = 200;
  std::vector<HttpHeader> headers = {};
  std::string body = {};
  /// Set on error answers, for log and metrics.
  std::optional<ErrorCode> error_code = {};
};

/// Returns an answer with a JSON body.
[[nodiscard]] HttpResponse json_response(int status, std::string body);
/// Returns `Not Found` for 404.
[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace paceline
