#include "http/http_exchange.h"

#include <cstdio>
#include <utility>

#include "http/connection.h"
#include "http/error_response.h"
#include "http/openai/error_body.h"
#include "http/router.h"
#include "http/server_context.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// Status of the access log for a client that left before its answer was complete.
constexpr int kClientClosed = 499;

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

std::string hex(std::size_t value) {
  char text[2 * sizeof value + 1];
  const int size = std::snprintf(text, sizeof text, "%zx", value);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

HttpExchange::HttpExchange(ServerContext& context, std::shared_ptr<Connection> connection,
                           HttpRequest request, bool keep_alive)
    : context_(context),
      connection_(std::move(connection)),
      request_(std::move(request)),
      keep_alive_(keep_alive) {
  log_.started_at = context_.clock.now();
  log_.peer = connection_->peer();
}

asio::any_io_executor HttpExchange::executor() const { return connection_->executor(); }

void HttpExchange::add_header(std::string_view name, std::string value) {
  common_headers_.push_back({std::string(name), std::move(value)});
}

asio::awaitable<void> HttpExchange::send(HttpResponse response) {
  if (response.error_code) {
    const openai::ErrorKind kind = openai::error_kind(*response.error_code);
    log_.code = std::string(kind.code);
    if (kind.closes) keep_alive_ = false;
    count_error(context_.metrics, *response.error_code);
  }
  log_.status = response.status;
  state_ = State::kComplete;
  std::string bytes = serialize_head(response, true);
  if (request_.method != HttpMethod::kHead) bytes += response.body;
  const bool delivered = co_await write(std::move(bytes));
  if (!delivered) log_.status = kClientClosed;
}

asio::awaitable<void> HttpExchange::send_error(Error error) {
  HttpResponse response = error_response(error, context_.service);
  co_await send(std::move(response));
}

asio::awaitable<bool> HttpExchange::begin_stream(HttpResponse head) {
  log_.status = head.status;
  state_ = State::kStreaming;
  if (request_.minor_version == 0) keep_alive_ = false;  // the end of the body is the end of it all
  const bool delivered = co_await write(serialize_head(head, false));
  if (!delivered) log_.status = kClientClosed;
  co_return delivered;
}

asio::awaitable<bool> HttpExchange::write_stream(std::vector<std::string> pieces) {
  std::string bytes;
  for (const std::string& piece : pieces) {
    if (piece.empty()) continue;  // an empty chunk would end the body
    if (request_.minor_version == 0) {
      bytes += piece;
    } else {
      bytes.append(hex(piece.size())).append("\r\n").append(piece).append("\r\n");
    }
  }
  const bool delivered = co_await write(std::move(bytes));
  if (!delivered) log_.status = kClientClosed;
  co_return delivered;
}

asio::awaitable<void> HttpExchange::end_stream() {
  state_ = State::kComplete;
  if (request_.minor_version == 0) co_return;
  const bool delivered = co_await write("0\r\n\r\n");
  if (!delivered) log_.status = kClientClosed;
}

void HttpExchange::abandon() {
  state_ = State::kComplete;
  keep_alive_ = false;
  log_.status = kClientClosed;
}

void HttpExchange::watch_peer(std::function<void()> on_gone) {
  connection_->watch(std::move(on_gone));
}

bool HttpExchange::is_peer_gone() const { return connection_->is_peer_gone(); }

std::string HttpExchange::serialize_head(const HttpResponse& response, bool has_length) const {
  std::string out = "HTTP/1.1 ";
  out.append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  for (const HttpHeader& header : common_headers_) append_header(out, header.name, header.value);
  for (const HttpHeader& header : response.headers) append_header(out, header.name, header.value);
  if (route != nullptr && route->is_generation) {
    const double elapsed_ms = to_ms(context_.clock.now() - log_.started_at);
    append_header(out, "openai-processing-ms",
                  std::to_string(static_cast<std::int64_t>(elapsed_ms)));
  }
  if (has_length && response.status != 204) {
    append_header(out, "content-length", std::to_string(response.body.size()));
  } else if (!has_length && request_.minor_version != 0) {
    append_header(out, "transfer-encoding", "chunked");
  }
  if (!keep_alive_) {
    append_header(out, "connection", "close");
  } else if (request_.minor_version == 0) {
    append_header(out, "connection", "keep-alive");
  }
  out += "\r\n";
  return out;
}

asio::awaitable<bool> HttpExchange::write(std::string bytes) {
  const std::size_t size = bytes.size();
  const bool delivered = co_await connection_->write(std::move(bytes));
  if (delivered) log_.bytes_out += size;
  co_return delivered;
}

}  // namespace paceline
