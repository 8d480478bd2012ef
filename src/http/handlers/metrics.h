#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET /metrics (API.md §9).
class MetricsHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
