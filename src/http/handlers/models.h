#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET /v1/models (API.md §7.3).
class ModelsHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// GET /v1/models/{id}.
class ModelHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
