#include "http/websocket_session.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "http/async_event.h"
#include "http/connection.h"
#include "http/http_options.h"
#include "http/server_context.h"
#include "http/websocket_outbox.h"
#include "http/websocket_responses.h"
#include "http/websocket_stream.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

using WriteStatus = WebsocketStream::WriteStatus;

// Frames that wait for the writer; more stays in the engine's streams, where it is counted.
constexpr std::size_t kMaxOutboxBytes = 65536;
// For the peer to answer a close frame.
constexpr std::chrono::seconds kCloseTime{2};
// After its life a connection is closed with its last response, or after this time.
constexpr std::chrono::seconds kAfterLife{60};
constexpr std::chrono::minutes kErrorWindow{1};

class WebsocketSession final : public WebsocketHost,
                               public std::enable_shared_from_this<WebsocketSession> {
 public:
  WebsocketSession(HttpExchange& exchange, std::unique_ptr<WebsocketStream> stream);

  asio::awaitable<void> run();
  /// The server ends.
  void stop(StopKind kind);

 private:
  struct CloseRequest {
    WebsocketClose code;
    std::string_view reason;
  };

  void spawn(asio::awaitable<void> task) override;
  asio::awaitable<bool> send(std::string message) override;
  void on_refusal() override;
  void on_response_end() override;
  void on_task_end(const std::exception_ptr& failure);

  void note_open();
  void note_close();
  asio::awaitable<void> read_messages();
  asio::awaitable<void> write_messages();
  asio::awaitable<bool> write_message(std::string message);
  asio::awaitable<void> watch_time();
  void request_close(WebsocketClose code, std::string_view reason);

  ServerContext& context_;
  const WebsocketOptions& options_;
  const std::shared_ptr<Connection> connection_;
  const std::string request_id_;
  const std::unique_ptr<WebsocketStream> stream_;
  const TimePoint opened_at_;

  WebsocketResponses responses_;
  std::size_t num_lanes_ = 0;  // counted in the metrics
  WebsocketOutbox outbox_;
  std::optional<CloseRequest> close_request_;
  AsyncEvent time_event_;
  bool is_ending_ = false;
  bool is_life_over_ = false;   // closed when idle
  bool is_going_away_ = false;  // closed when idle
  CancelCause cancel_cause_ = CancelCause::kDisconnect;
  std::optional<TimePoint> stalled_since_;  // paused for its slow reader

  TimePoint error_window_start_{};
  std::size_t num_errors_ = 0;  // in the window

  int num_tasks_ = 0;
  AsyncEvent task_ended_;
};

WebsocketSession::WebsocketSession(HttpExchange& exchange, std::unique_ptr<WebsocketStream> stream)
    : context_(exchange.context()),
      options_(context_.options.websocket),
      connection_(exchange.share_connection()),
      request_id_(exchange.log().request_id),
      stream_(std::move(stream)),
      opened_at_(context_.clock.now()),
      responses_(context_, *connection_, exchange.principal, request_id_, *this),
      outbox_(connection_->executor(), kMaxOutboxBytes),
      time_event_(connection_->executor()),
      task_ended_(connection_->executor()) {}

asio::awaitable<void> WebsocketSession::run() {
  note_open();
  spawn(write_messages());
  spawn(watch_time());
  co_await read_messages();
  is_ending_ = true;
  responses_.end(cancel_cause_);
  outbox_.discard();
  time_event_.notify();
  co_await stream_->finish(context_.clock.now() + kCloseTime);
  while (num_tasks_ > 0) co_await task_ended_.wait_until(TimePoint::max());
  note_close();
}

void WebsocketSession::note_open() {
  context_.metrics.ws_connections.add(1);
  context_.metrics.ws_connections_total.add();
  context_.logger.write(LogRecord(LogLevel::kInfo, "ws_open")
                            .add("message", "WebSocket opened")
                            .add("request_id", request_id_)
                            .add("peer", connection_->peer()));
}

void WebsocketSession::note_close() {
  const Duration life = context_.clock.now() - opened_at_;
  context_.metrics.ws_lanes.add(-static_cast<double>(num_lanes_));
  context_.metrics.ws_connections.add(-1);
  context_.metrics.ws_connection_duration.observe(to_seconds(life));
  context_.metrics.count_ws_close(stream_->close_code());
  context_.metrics.request_bytes.add(static_cast<double>(stream_->bytes_received()));
  context_.logger.write(LogRecord(LogLevel::kInfo, "ws_close")
                            .add("message", "WebSocket closed")
                            .add("request_id", request_id_)
                            .add("peer", connection_->peer())
                            .add("code", stream_->close_code())
                            .add("total_ms", to_ms(life)));
}

void WebsocketSession::spawn(asio::awaitable<void> task) {
  ++num_tasks_;
  asio::co_spawn(
      connection_->executor(), std::move(task),
      [self = shared_from_this()](std::exception_ptr failure) { self->on_task_end(failure); });
}

asio::awaitable<bool> WebsocketSession::send(std::string message) {
  return outbox_.push(std::move(message));
}

void WebsocketSession::on_task_end(const std::exception_ptr& failure) {
  --num_tasks_;
  task_ended_.notify();
  if (!failure) return;
  std::string message = "unknown failure";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    message = error.what();
  }
  context_.logger.write(
      LogRecord(LogLevel::kError, "error").add("message", message).add("request_id", request_id_));
  request_close(WebsocketClose::kInternalError, "internal_error");
}

asio::awaitable<void> WebsocketSession::read_messages() {
  while (true) {
    auto message = co_await stream_->read();
    if (message.status == WebsocketStream::ReadStatus::kClosed) co_return;
    if (close_request_) continue;  // reading goes on until the peer has answered the close
    context_.metrics.ws_messages[WsDirection::kIn].add();
    if (message.status == WebsocketStream::ReadStatus::kBinary) {
      request_close(WebsocketClose::kBinary, "text messages only");
    } else {
      co_await responses_.on_message(std::move(message.text));
      const std::size_t known = std::exchange(num_lanes_, responses_.num_lanes());
      context_.metrics.ws_lanes.add(static_cast<double>(num_lanes_ - known));
    }
  }
}

void WebsocketSession::on_refusal() {
  const TimePoint now = context_.clock.now();
  if (now - error_window_start_ >= kErrorWindow) {
    error_window_start_ = now;
    num_errors_ = 0;
  }
  if (++num_errors_ > options_.max_errors_per_minute) {
    request_close(WebsocketClose::kPolicy, "too_many_errors");
  }
}

asio::awaitable<void> WebsocketSession::write_messages() {
  while (true) {
    auto message = co_await outbox_.pop();
    if (!message) break;
    const bool sent = co_await write_message(std::move(*message));
    if (!sent) break;
  }
  if (close_request_) {
    const CloseRequest request = *close_request_;
    co_await stream_->close(request.code, request.reason, context_.clock.now() + kCloseTime);
  }
}

/// False: nothing more can be sent.
asio::awaitable<bool> WebsocketSession::write_message(std::string message) {
  const std::size_t size = message.size();
  const TimePoint now = context_.clock.now();
  const auto limit = context_.options.slow_reader_timeout;
  const bool is_paused = connection_->output()->budget()->is_over_limit();
  if (!is_paused) {
    stalled_since_.reset();
  } else if (!stalled_since_) {
    stalled_since_ = now;
  }
  WriteStatus status = WriteStatus::kTimeout;
  const TimePoint deadline = stalled_since_.value_or(now) + limit;
  if (deadline > now) status = co_await stream_->write(std::move(message), deadline);
  if (status == WriteStatus::kTimeout) {
    context_.metrics.timeouts[HttpTimeout::kSlowReader].add();
    cancel_cause_ = CancelCause::kSlowReader;
    request_close(WebsocketClose::kPolicy, "slow_reader");
    outbox_.discard();
  }
  if (status != WriteStatus::kSent) co_return false;
  context_.metrics.ws_messages[WsDirection::kOut].add();
  context_.metrics.response_bytes.add(static_cast<double>(size));
  co_return true;
}

asio::awaitable<void> WebsocketSession::watch_time() {
  TimePoint ping_at = context_.clock.now() + options_.ping;
  TimePoint life_ends_at = opened_at_ + options_.max_life;
  while (!is_ending_) {
    const TimePoint idle_at = stream_->last_received() + options_.idle_timeout;
    const TimePoint wake_at = std::min({ping_at, idle_at, life_ends_at});
    co_await time_event_.wait_until(wake_at);
    if (is_ending_) co_return;
    const TimePoint now = context_.clock.now();
    if (now >= stream_->last_received() + options_.idle_timeout) {
      context_.metrics.timeouts[HttpTimeout::kIdle].add();
      stream_->abort();
      co_return;
    }
    if (now >= ping_at) {
      stream_->ping();
      ping_at = now + options_.ping;
    }
    if (now >= life_ends_at) {
      if (is_life_over_) request_close(WebsocketClose::kGoingAway, "end_of_life");
      is_life_over_ = true;
      responses_.refuse_creates();
      life_ends_at = now + kAfterLife;
      on_response_end();
    }
  }
}

void WebsocketSession::on_response_end() {
  if (!responses_.is_idle()) return;
  if (is_going_away_) request_close(WebsocketClose::kGoingAway, "server_draining");
  if (is_life_over_) request_close(WebsocketClose::kGoingAway, "end_of_life");
}

/// Sends what is there, then the close frame; responses under way are cancelled.
void WebsocketSession::request_close(WebsocketClose code, std::string_view reason) {
  if (close_request_) return;
  close_request_ = CloseRequest{code, reason};
  is_ending_ = true;
  responses_.end(cancel_cause_);
  outbox_.close();
}

void WebsocketSession::stop(StopKind kind) {
  if (kind == StopKind::kNow) {
    stream_->abort();
    return;
  }
  is_going_away_ = true;
  cancel_cause_ = CancelCause::kDrain;
  on_response_end();
}

}  // namespace

asio::awaitable<void> run_websocket_session(HttpExchange& exchange, std::string key) {
  ServerContext& context = exchange.context();
  Connection& connection = exchange.connection();
  // The connection calls the session only while it lives; what comes before is kept.
  auto early_stop = std::make_shared<std::optional<StopKind>>();
  auto session_slot = std::make_shared<std::weak_ptr<WebsocketSession>>();
  exchange.detach();
  exchange.log().status = 101;
  std::string early = std::exchange(connection.input(), {});
  auto stream = std::make_unique<WebsocketStream>(
      connection.release_socket([early_stop, session_slot](StopKind kind) {
        if (const auto session = session_slot->lock()) {
          session->stop(kind);
        } else {
          *early_stop = kind;
        }
      }),
      context.options.websocket.max_message_bytes, context.clock);
  std::vector<HttpHeader> headers = exchange.common_headers();
  const bool accepted = co_await stream->accept(key, std::move(early), std::move(headers));
  if (!accepted) co_return;
  const auto session = std::make_shared<WebsocketSession>(exchange, std::move(stream));
  *session_slot = session;
  if (*early_stop) session->stop(**early_stop);
  co_await session->run();
}

}  // namespace paceline
