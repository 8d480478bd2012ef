#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "http/http_message.h"

namespace paceline {

/// Checks the handshake of a WebSocket (RFC 6455 §4.2.1), returns its Sec-WebSocket-Key. Errors:
/// kUpgradeRequired without Upgrade or with another version than 13; kMalformedRequest for HTTP/1.0
/// or a key that is not 16 bytes.
[[nodiscard]] Result<std::string> check_websocket_handshake(const HttpRequest& request);

/// Checks `Origin`: absent, one of `allowed_origins`, or the server's own, which is that of `Host`
/// when it is an IP literal, `localhost` or one of `allowed_hosts`. Errors: kOriginNotAllowed.
[[nodiscard]] Result<void> check_websocket_origin(const HttpRequest& request,
                                                  std::span<const std::string> allowed_origins,
                                                  std::span<const std::string> allowed_hosts);

}  // namespace paceline
