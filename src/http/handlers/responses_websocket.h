#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET /v1/responses with Upgrade: checks the handshake in the order of API.md §5.3 and serves the
/// WebSocket until it ends.
class ResponsesWebsocketHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
