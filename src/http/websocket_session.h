#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "http/http_exchange.h"

namespace paceline {

/// Serves one Responses WebSocket from the answer to its checked handshake to its end (API.md
/// §5.3): messages in, lanes, frames out, pings, time limits, close codes. Returns when the socket
/// is closed and nothing of it is left in the engine. Takes the exchange's connection over; runs on
/// its strand. `key` is the handshake's Sec-WebSocket-Key.
[[nodiscard]] boost::asio::awaitable<void> run_websocket_session(HttpExchange& exchange,
                                                                 std::string key);

}  // namespace paceline
