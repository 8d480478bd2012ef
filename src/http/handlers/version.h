#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET /version: build and model; the model's fields are null while it loads.
class VersionHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
