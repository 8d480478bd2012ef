#include "http/handlers/responses_websocket.h"

#include <atomic>
#include <string>
#include <utility>

#include "http/connection.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/server_context.h"
#include "http/service_state.h"
#include "http/websocket_handshake.h"
#include "http/websocket_session.h"
#include "http/websocket_stream.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

/// One of the places for WebSockets, given back by its destructor.
class WebsocketPlace {
 public:
  explicit WebsocketPlace(std::atomic<std::size_t>& num_open)
      : num_open_(num_open), rank_(num_open.fetch_add(1) + 1) {}
  ~WebsocketPlace() { num_open_.fetch_sub(1); }
  WebsocketPlace(const WebsocketPlace&) = delete;
  WebsocketPlace& operator=(const WebsocketPlace&) = delete;

  [[nodiscard]] bool is_within(std::size_t limit) const { return rank_ <= limit; }

 private:
  std::atomic<std::size_t>& num_open_;
  const std::size_t rank_;
};

Result<std::string> check_handshake(const HttpExchange& exchange) {
  const HttpOptions& options = exchange.context().options;
  auto key = check_websocket_handshake(exchange.request());
  if (!key) return key;
  const auto origin = check_websocket_origin(exchange.request(), options.websocket.allowed_origins,
                                             options.allowed_hosts);
  if (!origin) return tl::unexpected(origin.error());
  const auto model = exchange.context().service.accepting_model();
  if (!model) return tl::unexpected(model.error());
  if (exchange.connection().input().size() > WebsocketStream::kMaxEarlyBytes) {
    return fail(ErrorCode::kMalformedRequest, "frames came before the handshake was answered");
  }
  return key;
}

}  // namespace

asio::awaitable<void> ResponsesWebsocketHandler::handle(HttpExchange& exchange) const {
  auto key = check_handshake(exchange);
  if (!key) {
    co_await exchange.send_error(std::move(key.error()));
    co_return;
  }
  const WebsocketPlace place(exchange.context().num_websockets);
  if (!place.is_within(exchange.context().options.websocket.max_connections)) {
    Error error{ErrorCode::kServerOverloaded, "too many WebSocket connections"};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  co_await run_websocket_session(exchange, std::move(*key));
}

}  // namespace paceline
