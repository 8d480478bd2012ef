#include "http/http_session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/logging.h"
#include "http/connection.h"
#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/http_handler.h"
#include "http/http_options.h"
#include "http/middleware/body_limit.h"
#include "http/middleware/request_id.h"
#include "http/pipeline.h"
#include "http/request_parser.h"
#include "http/router.h"
#include "http/server_context.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

using ReadStatus = Connection::ReadStatus;

class HttpSession {
 public:
  HttpSession(ServerContext& context, std::shared_ptr<Connection> connection)
      : context_(context),
        options_(context.options),
        connection_(std::move(connection)),
        accepted_at_(context.clock.now()) {}

  asio::awaitable<void> run();

 private:
  enum class Next { kRequest, kLinger, kClose, kDetached };

  asio::awaitable<Next> serve_one();
  asio::awaitable<Result<std::size_t>> read_head(RequestParser& parser);
  asio::awaitable<bool> wait_for_request();
  asio::awaitable<void> answer(HttpExchange& exchange, RequestParser& parser);
  asio::awaitable<bool> read_body(HttpExchange& exchange, RequestParser& parser, std::size_t limit);
  asio::awaitable<Result<bool>> receive_body(HttpExchange& exchange, RequestParser& parser,
                                             std::size_t limit);
  asio::awaitable<void> call_handler(HttpExchange& exchange);
  void finish(HttpExchange& exchange);

  ServerContext& context_;
  const HttpOptions& options_;
  const std::shared_ptr<Connection> connection_;
  const TimePoint accepted_at_;
  bool is_first_request_ = true;
};

asio::awaitable<void> HttpSession::run() {
  Next next = Next::kRequest;
  while (next == Next::kRequest) next = co_await serve_one();
  if (next == Next::kLinger) co_await connection_->linger_and_close();
  if (next != Next::kDetached) connection_->close(ConnectionEnd::kServer);
}

asio::awaitable<HttpSession::Next> HttpSession::serve_one() {
  RequestParser parser(options_);
  auto head_size = co_await read_head(parser);
  is_first_request_ = false;
  if (head_size && *head_size == 0) co_return Next::kClose;
  const bool has_head = head_size.has_value();
  HttpExchange exchange(context_, connection_, has_head ? parser.take_request() : HttpRequest(),
                        has_head && parser.keep_alive());
  if (has_head) {
    connection_->input().erase(0, *head_size);
    exchange.log().bytes_in = *head_size;
    exchange.declared_body_size = parser.content_length();
    co_await answer(exchange, parser);
  } else {
    assign_request_id(exchange);
    co_await exchange.send_error(std::move(head_size.error()));
  }
  finish(exchange);
  if (exchange.is_detached()) co_return Next::kDetached;
  if (connection_->end()) co_return Next::kClose;
  if (!exchange.keep_alive()) co_return Next::kLinger;
  co_return Next::kRequest;
}

/// Returns the size of the head at the front of the input; 0 when the connection ends without a
/// request that could be answered.
asio::awaitable<Result<std::size_t>> HttpSession::read_head(RequestParser& parser) {
  if (connection_->input().empty()) {
    const bool has_bytes = co_await wait_for_request();
    if (!has_bytes) co_return std::size_t{0};
  }
  const TimePoint begin = is_first_request_ ? accepted_at_ : context_.clock.now();
  while (true) {
    auto size = parser.parse_head(connection_->input());
    if (!size || *size > 0) co_return size;
    const ReadStatus status = co_await connection_->read_more(begin + options_.header_timeout);
    if (status == ReadStatus::kEnd) co_return std::size_t{0};
    if (status == ReadStatus::kTimeout) {
      context_.metrics.timeouts[HttpTimeout::kHeader].add();
      co_return fail(ErrorCode::kRequestTimeout, "the request head did not arrive in time");
    }
  }
}

/// Waits for the first byte of a request; false when the connection is to be closed instead.
asio::awaitable<bool> HttpSession::wait_for_request() {
  const TimePoint deadline = is_first_request_ ? accepted_at_ + options_.header_timeout
                                               : context_.clock.now() + options_.keep_alive_timeout;
  const ReadStatus status =
      co_await connection_->read_more(deadline, Connection::WhenStopping::kEnd);
  if (status == ReadStatus::kTimeout) {
    const HttpTimeout kind = is_first_request_ ? HttpTimeout::kHeader : HttpTimeout::kIdle;
    context_.metrics.timeouts[kind].add();
  }
  co_return status == ReadStatus::kData;
}

asio::awaitable<void> HttpSession::answer(HttpExchange& exchange, RequestParser& parser) {
  if (connection_->is_stopping()) exchange.close_after_answer();
  if (auto response = run_middleware(middleware_before_body(), exchange)) {
    // A client that waits for `100 Continue` may or may not send its body now; a body that is too
    // large is not worth reading. Other bodies are passed over, and the connection goes on.
    const bool expects = exchange.request().find("expect").has_value();
    const bool is_huge = exchange.declared_body_size.value_or(0) > options_.max_body_bytes;
    if (!parser.is_body_complete() && (expects || is_huge)) exchange.close_after_answer();
    co_await exchange.send(std::move(*response));
    if (exchange.keep_alive() && !parser.is_body_complete()) {
      const auto rest = co_await receive_body(exchange, parser, options_.max_body_bytes);
      if (!rest || !*rest) exchange.close_after_answer();
      exchange.request().body.clear();
    }
    co_return;
  }
  const std::size_t limit = body_limit(*exchange.route, options_);
  const bool has_body = co_await read_body(exchange, parser, limit);
  if (!has_body) co_return;
  if (auto response = run_middleware(middleware_after_body(), exchange)) {
    co_await exchange.send(std::move(*response));
    co_return;
  }
  co_await call_handler(exchange);
}

/// Reads the whole body into the request; false when that failed and was answered.
asio::awaitable<bool> HttpSession::read_body(HttpExchange& exchange, RequestParser& parser,
                                             std::size_t limit) {
  if (parser.is_body_complete()) co_return true;
  if (exchange.request().find("expect") && exchange.request().minor_version > 0) {
    const bool sent = co_await connection_->write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!sent) {
      exchange.abandon();
      co_return false;
    }
  }
  auto received = co_await receive_body(exchange, parser, limit);
  if (!received) {
    co_await exchange.send_error(std::move(received.error()));
    co_return false;
  }
  if (!*received) exchange.abandon();
  co_return *received;
}

/// Decodes the body into the request. False: the client left. Errors: kRequestTooLarge,
/// kRequestTimeout, kMalformedRequest.
asio::awaitable<Result<bool>> HttpSession::receive_body(HttpExchange& exchange,
                                                        RequestParser& parser, std::size_t limit) {
  std::string& input = connection_->input();
  const TimePoint end = context_.clock.now() + options_.body_timeout;
  while (!parser.is_body_complete()) {
    if (!input.empty()) {
      const auto used = parser.parse_body(input, exchange.request().body);
      if (!used) co_return tl::unexpected(used.error());
      input.erase(0, *used);
      exchange.log().bytes_in += *used;
      if (exchange.request().body.size() > limit) co_return tl::unexpected(body_too_large(limit));
      if (*used > 0) continue;
    }
    const TimePoint deadline = std::min(end, context_.clock.now() + options_.body_idle_timeout);
    const ReadStatus status = co_await connection_->read_more(deadline);
    if (status == ReadStatus::kEnd) co_return false;
    if (status == ReadStatus::kTimeout) {
      context_.metrics.timeouts[HttpTimeout::kBody].add();
      co_return fail(ErrorCode::kRequestTimeout, "the request body did not arrive in time");
    }
  }
  co_return true;
}

asio::awaitable<void> HttpSession::call_handler(HttpExchange& exchange) {
  std::optional<std::string> failure;
  try {
    co_await exchange.handler->handle(exchange);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  exchange.watch_peer(nullptr);
  if (!failure) co_return;
  context_.logger.write(LogRecord(LogLevel::kError, "error")
                            .add("message", *failure)
                            .add("request_id", exchange.log().request_id));
  exchange.close_after_answer();
  if (!exchange.has_answered()) {
    Error error{ErrorCode::kInternalError, "internal error"};
    co_await exchange.send_error(std::move(error));
  }
}

void HttpSession::finish(HttpExchange& exchange) {
  const TimePoint now = context_.clock.now();
  const RequestLog& log = exchange.log();
  const auto route =
      exchange.route != nullptr ? static_cast<std::size_t>(exchange.route->id) : kNumRoutes;
  context_.metrics.count_request(route, log.status);
  context_.metrics.request_bytes.add(static_cast<double>(log.bytes_in));
  if (exchange.is_detached()) return;  // a WebSocket logs its own requests
  const HttpApi api = exchange.route != nullptr ? exchange.route->api : HttpApi::kOther;
  context_.metrics.request_duration[api].observe(to_seconds(now - log.started_at));
  write_request_log(context_.logger, log, now);
}

}  // namespace

asio::awaitable<void> run_http_session(ServerContext& context,
                                       std::shared_ptr<Connection> connection) {
  HttpSession session(context, std::move(connection));
  co_await session.run();
}

asio::awaitable<void> refuse_http_session(ServerContext& context,
                                          std::shared_ptr<Connection> connection) {
  HttpExchange exchange(context, connection, HttpRequest(), false);
  assign_request_id(exchange);
  Error error{ErrorCode::kServerOverloaded, "too many connections"};
  co_await exchange.send_error(std::move(error));
  write_request_log(context.logger, exchange.log(), context.clock.now());
  co_await connection->linger_and_close();
}

}  // namespace paceline
