#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET /health: the process answers.
class HealthHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// GET /ready: 200 while new work is taken and moves on, else 503 with the reason.
class ReadyHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
