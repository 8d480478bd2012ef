#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

namespace paceline {

class Connection;
struct ServerContext;

/// Serves a connection's requests one after the other until it ends: head, middleware, body,
/// middleware, handler, answer, log. Runs on the connection's strand.
[[nodiscard]] boost::asio::awaitable<void> run_http_session(ServerContext& context,
                                                            std::shared_ptr<Connection> connection);

/// Tells a client that there is no place for its connection, and closes it.
[[nodiscard]] boost::asio::awaitable<void> refuse_http_session(
    ServerContext& context, std::shared_ptr<Connection> connection);

}  // namespace paceline
