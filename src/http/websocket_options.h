#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace paceline {

/// Limits of the Responses WebSocket; keys are `ws.<field>` (durations with `_ms`). API.md §5.3.
struct WebsocketOptions {
  /// Bytes of one message; above: close 1009.
  std::size_t max_message_bytes = 8388608;
  /// Open WebSocket connections; above: 503.
  std::size_t max_connections = 512;
  /// Creates of one connection that wait for their lane or for a place; above:
  /// websocket_queue_full.
  std::size_t max_pending = 64;
  /// Time between two pings of the server.
  std::chrono::milliseconds ping{20000};
  /// Nothing received for so long: the connection is dropped.
  std::chrono::milliseconds idle_timeout{60000};
  /// Creates are served for so long after the handshake; then the connection ends with its last
  /// response.
  std::chrono::milliseconds max_life{3600000};
  /// Refused messages within a minute; above: close 1008.
  std::size_t max_errors_per_minute = 120;
  /// Finished responses a connection keeps for `previous_response_id`, stored or not.
  std::size_t cache_responses = 32;
  /// Bytes of their conversations.
  std::size_t cache_bytes = 8388608;
  /// Values of `Origin` that may connect, besides the server's own.
  std::vector<std::string> allowed_origins = {};
};

}  // namespace paceline
