#pragma once

#include <boost/asio/awaitable.hpp>

namespace paceline {

class HttpExchange;

/// Answers the requests of one route. Immutable after construction, owned by the server; called on
/// any I/O thread, for many connections at once. Whatever handle() throws ends the connection.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Sends exactly one answer through the exchange, or takes its connection over (WebSocket). The
  /// exchange outlives the returned coroutine.
  [[nodiscard]] virtual boost::asio::awaitable<void> handle(HttpExchange& exchange) const = 0;
};

}  // namespace paceline
