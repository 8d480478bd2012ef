#pragma once

#include "http/http_handler.h"

namespace paceline {

/// POST /v1/completions (API.md §4).
class CompletionsHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
