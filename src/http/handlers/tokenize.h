#pragma once

#include "http/http_handler.h"

namespace paceline {

/// POST /tokenize (API.md §7.2).
class TokenizeHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// POST /detokenize.
class DetokenizeHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// POST /apply-template.
class ApplyTemplateHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
