#pragma once

#include "http/http_handler.h"

namespace paceline {

/// POST /v1/responses, streamed or not.
class CreateResponseHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// GET /v1/responses/{id}.
class GetResponseHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// DELETE /v1/responses/{id}.
class DeleteResponseHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// POST /v1/responses/{id}/cancel.
class CancelResponseHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

/// POST /v1/responses/input_tokens.
class InputTokensHandler final : public HttpHandler {
 public:
  [[nodiscard]] boost::asio::awaitable<void> handle(HttpExchange& exchange) const override;
};

}  // namespace paceline
