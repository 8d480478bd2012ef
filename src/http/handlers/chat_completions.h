#pragma once

#include "http/http_handler.h"

namespace paceline {

/// POST /v1/chat/completions (API.md §3).
class ChatCompletionsHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
