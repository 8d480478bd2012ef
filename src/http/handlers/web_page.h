#pragma once

#include "http/http_handler.h"

namespace paceline {

/// GET / and GET /ui/*: the chat page and its files, from the table in the binary.
class WebPageHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
