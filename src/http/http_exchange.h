#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "http/http_message.h"
#include "http/request_log.h"

namespace paceline {

class Connection;
class HttpHandler;
struct Route;
struct ServerContext;

/// Whose request it is, from the key alone.
struct Principal {
  TenantId tenant{};
  std::string tenant_name = "anonymous";
  std::optional<std::string> key_id = {};
};

/// One request and its answer: what middleware and handlers see of a connection. Lives in the
/// session's coroutine; used on the connection's strand only.
class HttpExchange {
 public:
  HttpExchange(ServerContext& context, std::shared_ptr<Connection> connection, HttpRequest request,
               bool keep_alive);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  [[nodiscard]] const HttpRequest& request() const { return request_; }
  [[nodiscard]] HttpRequest& request() { return request_; }
  [[nodiscard]] ServerContext& context() const { return context_; }
  [[nodiscard]] Connection& connection() const { return *connection_; }
  /// Keeps the connection alive beyond the session, for a handler that takes it over.
  [[nodiscard]] std::shared_ptr<Connection> share_connection() const { return connection_; }
  [[nodiscard]] boost::asio::any_io_executor executor() const;
  [[nodiscard]] RequestLog& log() { return log_; }
  [[nodiscard]] TimePoint accepted_at() const { return log_.started_at; }

  // Facts found by the middleware before the handler runs.
  const Route* route = nullptr;
  const HttpHandler* handler = nullptr;
  /// Content-Length, known before the body is read.
  std::optional<std::uint64_t> declared_body_size = {};
  Principal principal = {};
  /// Value of the path's `{id}`; empty when the route has none.
  std::string path_id = {};
  /// From x-request-timeout-ms.
  std::optional<std::chrono::milliseconds> timeout = {};

  /// Adds a header to whatever answer is sent.
  void add_header(std::string_view name, std::string value);
  [[nodiscard]] const std::vector<HttpHeader>& common_headers() const { return common_headers_; }
  /// The connection ends after this answer.
  void close_after_answer() { keep_alive_ = false; }
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }

  /// Sends a complete answer. What cannot be delivered is noted in the log.
  [[nodiscard]] boost::asio::awaitable<void> send(HttpResponse response);
  /// Sends the error body of API.md §1.1 with its headers.
  [[nodiscard]] boost::asio::awaitable<void> send_error(Error error);

  /// Sends the head of an answer whose body follows in pieces. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> begin_stream(HttpResponse head);
  /// Sends pieces of the body, one HTTP chunk each, in one write. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> write_stream(std::vector<std::string> pieces);
  /// Ends the body.
  [[nodiscard]] boost::asio::awaitable<void> end_stream();
  /// The client has left: no answer, or no rest of it, is sent.
  void abandon();
  [[nodiscard]] bool has_answered() const { return state_ != State::kUnanswered; }

  /// Calls `on_gone` on the strand once when the client leaves (FIN, RST) while the handler runs;
  /// at once when it has left already. An empty function ends the watch.
  void watch_peer(std::function<void()> on_gone);
  [[nodiscard]] bool is_peer_gone() const;

  /// The handler takes the connection over: no further request is read from it.
  void detach() { state_ = State::kDetached; }
  [[nodiscard]] bool is_detached() const { return state_ == State::kDetached; }

 private:
  enum class State { kUnanswered, kStreaming, kComplete, kDetached };

  [[nodiscard]] std::string serialize_head(const HttpResponse& response, bool has_length) const;
  [[nodiscard]] boost::asio::awaitable<bool> write(std::string bytes);

  ServerContext& context_;
  std::shared_ptr<Connection> connection_;
  HttpRequest request_;
  RequestLog log_;
  std::vector<HttpHeader> common_headers_;
  bool keep_alive_;
  State state_ = State::kUnanswered;
};

}  // namespace paceline
