#include "http/websocket_session.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "http/async_event.h"
#include "http/connection.h"
#include "http/error_response.h"
#include "http/handlers/generation_call.h"
#include "http/handlers/request_parsing.h"
#include "http/http_options.h"
#include "http/openai/error_body.h"
#include "http/openai/json_writer.h"
#include "http/openai/websocket_message.h"
#include "http/random_ids.h"
#include "http/response_run.h"
#include "http/server_context.h"
#include "http/websocket_lanes.h"
#include "http/websocket_outbox.h"
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

class WebsocketSession : public std::enable_shared_from_this<WebsocketSession> {
 public:
  WebsocketSession(HttpExchange& exchange, std::unique_ptr<WebsocketStream> stream);

  asio::awaitable<void> run();
  /// The server ends.
  void stop(StopKind kind);

 private:
  /// A lane's create between its start and its end.
  struct ActiveCreate {
    ResponseRun* run = nullptr;  // null while it is prepared
    bool is_cancelled = false;
  };
  struct CloseRequest {
    WebsocketClose code;
    std::string_view reason;
  };

  void spawn(asio::awaitable<void> task);
  void on_task_end(const std::exception_ptr& failure);

  asio::awaitable<void> read_messages();
  asio::awaitable<void> on_message(std::string text);
  asio::awaitable<openai::ClientMessage> parse(std::string text);
  asio::awaitable<void> on_create(LaneName lane, openai::CreateMessage message, std::size_t bytes);
  asio::awaitable<void> on_cancel(LaneName lane, openai::CancelMessage message);
  void start_ready();
  asio::awaitable<void> run_create(QueuedCreate create);
  asio::awaitable<Result<std::unique_ptr<ResponseRun>>> start_run(QueuedCreate& create,
                                                                  RequestLog& log);
  asio::awaitable<void> send_frames(ResponseRun& run, const QueuedCreate& create, RequestLog& log);
  Result<std::shared_ptr<const Conversation>> find_conversation(const std::string& id);

  /// Answers with an error frame; counts it against the client unless it is the server's doing.
  asio::awaitable<void> refuse(LaneName lane, Error error, RequestLog log);
  void count_refusal();
  RequestLog make_log(const LaneName& lane, TimePoint started_at) const;

  asio::awaitable<void> write_frames();
  asio::awaitable<bool> write_frame(std::string frame);
  asio::awaitable<void> watch_time();
  void close_when_idle();
  void request_close(WebsocketClose code, std::string_view reason);
  void cancel_everything(CancelCause cause);

  ServerContext& context_;
  const WebsocketOptions& options_;
  const std::shared_ptr<Connection> connection_;
  const Principal principal_;
  const std::string request_id_;
  const std::unique_ptr<WebsocketStream> stream_;
  const TimePoint opened_at_;

  WebsocketLanes lanes_;
  std::map<LaneName, ActiveCreate> active_;
  ConversationCache conversations_;
  WebsocketOutbox outbox_;
  std::optional<CloseRequest> close_request_;
  AsyncEvent time_event_;
  bool is_ending_ = false;      // no new work
  bool is_life_over_ = false;   // no new creates
  bool is_going_away_ = false;  // closed when idle
  CancelCause cancel_cause_ = CancelCause::kDisconnect;
  std::optional<TimePoint> stalled_since_;

  TimePoint error_window_start_{};
  std::size_t num_errors_ = 0;  // in the window

  int num_tasks_ = 0;
  AsyncEvent task_ended_;
};

WebsocketLanes::Limits lane_limits(const WebsocketOptions& options) {
  WebsocketLanes::Limits limits;
  limits.max_pending = options.max_pending;
  limits.max_pending_bytes = 2 * options.max_message_bytes;
  return limits;
}

std::string rate_limits_frame(const LaneName& lane) {
  std::string frame;
  openai::JsonWriter json(frame);
  json.begin_object().string("type", "rate_limits.updated");
  if (lane) json.string("stream_id", *lane);
  json.raw("rate_limits", "[]").end_object();  // no tenant has limits
  return frame;
}

WebsocketSession::WebsocketSession(HttpExchange& exchange, std::unique_ptr<WebsocketStream> stream)
    : context_(exchange.context()),
      options_(context_.options.websocket),
      connection_(exchange.share_connection()),
      principal_(exchange.principal),
      request_id_(exchange.log().request_id),
      stream_(std::move(stream)),
      opened_at_(context_.clock.now()),
      lanes_(lane_limits(options_)),
      conversations_(options_.cache_responses, options_.cache_bytes),
      outbox_(connection_->executor(), kMaxOutboxBytes),
      time_event_(connection_->executor()),
      task_ended_(connection_->executor()) {}

asio::awaitable<void> WebsocketSession::run() {
  context_.metrics.ws_connections.add(1);
  context_.metrics.ws_connections_total.add();
  spawn(write_frames());
  spawn(watch_time());
  co_await read_messages();
  stream_->abort();
  is_ending_ = true;
  cancel_everything(cancel_cause_);
  outbox_.discard();
  time_event_.notify();
  while (num_tasks_ > 0) co_await task_ended_.wait_until(TimePoint::max());
  context_.metrics.ws_lanes.add(-static_cast<double>(lanes_.num_lanes()));
  context_.metrics.ws_connections.add(-1);
  context_.metrics.ws_connection_duration.observe(to_seconds(context_.clock.now() - opened_at_));
  context_.metrics.count_ws_close(stream_->close_code());
  context_.metrics.request_bytes.add(static_cast<double>(stream_->bytes_received()));
}

void WebsocketSession::spawn(asio::awaitable<void> task) {
  ++num_tasks_;
  asio::co_spawn(
      connection_->executor(), std::move(task),
      [self = shared_from_this()](std::exception_ptr failure) { self->on_task_end(failure); });
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
      co_await on_message(std::move(message.text));
    }
  }
}

asio::awaitable<void> WebsocketSession::on_message(std::string text) {
  const std::size_t bytes = text.size();
  const TimePoint received_at = context_.clock.now();
  openai::ClientMessage message = co_await parse(std::move(text));
  if (!message.content) {
    RequestLog log = make_log(message.stream_id, received_at);
    co_await refuse(message.stream_id, message.content.error(), std::move(log));
  } else if (auto* create = std::get_if<openai::CreateMessage>(&*message.content)) {
    co_await on_create(std::move(message.stream_id), std::move(*create), bytes);
  } else {
    auto& cancel = std::get<openai::CancelMessage>(*message.content);
    co_await on_cancel(std::move(message.stream_id), std::move(cancel));
  }
}

asio::awaitable<openai::ClientMessage> WebsocketSession::parse(std::string text) {
  const auto model = context_.service.model();  // there is one: the handshake needs it
  openai::ParseContext parse_context = make_parse_context(context_, *model);
  if (text.size() <= kMaxInlineBody) co_return openai::parse_client_message(text, parse_context);
  auto work = [text = std::move(text),
               parse_context = std::move(parse_context)]() -> Result<openai::ClientMessage> {
    return openai::parse_client_message(text, parse_context);
  };
  auto parsed = co_await context_.workers.run(principal_.tenant, std::move(work));
  if (parsed) co_return std::move(*parsed);
  openai::ClientMessage refused{.stream_id = std::nullopt, .content = openai::CancelMessage{}};
  refused.content = tl::unexpected(parsed.error());
  co_return refused;
}

asio::awaitable<void> WebsocketSession::on_create(LaneName lane, openai::CreateMessage message,
                                                  std::size_t bytes) {
  const TimePoint now = context_.clock.now();
  Result<void> accepted;
  if (is_life_over_) {
    accepted = fail(ErrorCode::kWebsocketConnectionLimitReached,
                    "this connection has reached the end of its life; open a new one");
  } else if (auto model = context_.service.accepting_model(); !model) {
    accepted = tl::unexpected(model.error());
  } else {
    const std::size_t num_lanes = lanes_.num_lanes();
    accepted = lanes_.add({lane, std::move(message), bytes, now});
    context_.metrics.ws_lanes.add(static_cast<double>(lanes_.num_lanes() - num_lanes));
  }
  if (!accepted) {
    RequestLog log = make_log(lane, now);
    co_await refuse(std::move(lane), std::move(accepted.error()), std::move(log));
  } else {
    start_ready();
  }
}

asio::awaitable<void> WebsocketSession::on_cancel(LaneName lane, openai::CancelMessage message) {
  bool found = false;
  if (message.response_id) {
    found = context_.responses.cancel_running(principal_.tenant, *message.response_id);
  } else {
    const auto active = active_.find(lane);
    if (active != active_.end()) {
      found = true;
      active->second.is_cancelled = true;
      if (active->second.run != nullptr) active->second.run->cancel(CancelCause::kApi);
    }
    std::vector<QueuedCreate> pending = lanes_.take_pending(lane);
    for (const QueuedCreate& create : pending) {
      found = true;
      RequestLog log = make_log(lane, create.received_at);
      Error error{ErrorCode::kRequestCancelled, "cancelled before it began"};
      co_await refuse(lane, std::move(error), std::move(log));
    }
  }
  if (found) co_return;
  RequestLog log = make_log(lane, context_.clock.now());
  Error error{ErrorCode::kResponseNotFound, "there is nothing to cancel"};
  co_await refuse(std::move(lane), std::move(error), std::move(log));
}

void WebsocketSession::start_ready() {
  while (!is_ending_) {
    auto create = lanes_.take_ready();
    if (!create) return;
    active_.insert_or_assign(create->lane, ActiveCreate{});
    spawn(run_create(std::move(*create)));
  }
}

asio::awaitable<void> WebsocketSession::run_create(QueuedCreate create) {
  const LaneName lane = create.lane;
  RequestLog log = make_log(lane, create.received_at);
  auto run = co_await start_run(create, log);
  std::optional<Error> failure;
  if (run) {
    ActiveCreate& active = active_[lane];
    active.run = run->get();
    if (active.is_cancelled) (*run)->cancel(CancelCause::kApi);
    if (is_ending_) (*run)->cancel(cancel_cause_);
    co_await send_frames(**run, create, log);
    failure = (*run)->refusal();
    if (!failure) {
      if ((*run)->conversation()) {
        conversations_.add((*run)->response().id, (*run)->conversation());
      }
      log.status = is_ending_ ? 499 : 200;
      write_request_log(context_.logger, log, context_.clock.now());
    }
  } else {
    failure = std::move(run.error());
  }
  active_.erase(lane);
  lanes_.finish(lane);
  if (failure) co_await refuse(lane, std::move(*failure), std::move(log));
  start_ready();
  close_when_idle();
}

asio::awaitable<Result<std::unique_ptr<ResponseRun>>> WebsocketSession::start_run(
    QueuedCreate& create, RequestLog& log) {
  auto model = context_.service.accepting_model();
  if (!model) co_return tl::unexpected(model.error());
  openai::ResponseRequest& request = create.message.request;
  note_generation_fields(log, request.fields, true, 1);
  ResponsePlan plan;
  plan.tenant = principal_.tenant;
  plan.transport = Transport::kWs;
  plan.stream_id = create.lane;
  plan.generate = create.message.generate;
  plan.accepted_at = create.received_at;
  plan.priority = effective_priority(request.fields);
  log.priority = plan.priority;
  if (request.previous_response_id) {
    auto earlier = find_conversation(*request.previous_response_id);
    if (!earlier) co_return tl::unexpected(earlier.error());
    plan.earlier = std::move(*earlier);
  }
  plan.request = std::move(request);
  auto run =
      co_await start_response(context_, std::move(*model), *connection_, std::move(plan), log);
  co_return run;
}

/// Sends everything a response makes, up to its end.
asio::awaitable<void> WebsocketSession::send_frames(ResponseRun& run, const QueuedCreate& create,
                                                    RequestLog& log) {
  const bool shows_limits = create.message.include_rate_limits;
  while (!run.is_finished()) {
    std::vector<ResponseFrame> frames = co_await run.next(TimePoint::max());
    for (ResponseFrame& frame : frames) {
      const bool is_created = frame.type == "response.created";
      log.bytes_out += frame.json.size();
      bool sent = co_await outbox_.push(std::move(frame.json));
      if (sent && shows_limits && is_created) {
        sent = co_await outbox_.push(rate_limits_frame(create.lane));
      }
      if (sent) continue;
      co_await run.abandon(cancel_cause_);  // the connection ends
      co_return;
    }
  }
  if (!shows_limits || run.refusal()) co_return;
  const bool sent = co_await outbox_.push(rate_limits_frame(create.lane));
  static_cast<void>(sent);  // the last frame: nothing depends on it
}

Result<std::shared_ptr<const Conversation>> WebsocketSession::find_conversation(
    const std::string& id) {
  if (auto conversation = conversations_.find(id)) return conversation;
  return context_.responses.conversation(principal_.tenant, id);
}

asio::awaitable<void> WebsocketSession::refuse(LaneName lane, Error error, RequestLog log) {
  const openai::ErrorKind kind = openai::error_kind(error.code);
  count_error(context_.metrics, error.code);
  log.status = kind.http_status;
  log.code = std::string(kind.code);
  write_request_log(context_.logger, log, context_.clock.now());
  if (kind.http_status < 500) count_refusal();
  const std::string* stream_id = lane ? &*lane : nullptr;
  std::string frame =
      openai::websocket_error(error, stream_id, retry_after(error.code, context_.service));
  const bool sent = co_await outbox_.push(std::move(frame));
  static_cast<void>(sent);  // the connection ends: nobody is left to tell
}

void WebsocketSession::count_refusal() {
  const TimePoint now = context_.clock.now();
  if (now - error_window_start_ >= kErrorWindow) {
    error_window_start_ = now;
    num_errors_ = 0;
  }
  if (++num_errors_ > options_.max_errors_per_minute) {
    request_close(WebsocketClose::kPolicy, "too_many_errors");
  }
}

RequestLog WebsocketSession::make_log(const LaneName& lane, TimePoint started_at) const {
  RequestLog log;
  log.id = random_object_id(openai::IdKind::kRequest);
  log.request_id = request_id_;
  log.tenant = principal_.tenant_name;
  log.key_id = principal_.key_id;
  log.api = label_value(HttpApi::kResponses);
  log.transport = label_value(Transport::kWs);
  log.route = "GET /v1/responses";
  log.stream_id = lane;
  log.peer = connection_->peer();
  log.started_at = started_at;
  return log;
}

asio::awaitable<void> WebsocketSession::write_frames() {
  while (true) {
    auto frame = co_await outbox_.pop();
    if (!frame) break;
    const bool sent = co_await write_frame(std::move(*frame));
    if (!sent) break;
  }
  if (close_request_) {
    const CloseRequest request = *close_request_;
    co_await stream_->close(request.code, request.reason, context_.clock.now() + kCloseTime);
  }
}

/// False: nothing more can be sent.
asio::awaitable<bool> WebsocketSession::write_frame(std::string frame) {
  const std::size_t size = frame.size();
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
  if (deadline > now) status = co_await stream_->write(std::move(frame), deadline);
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
      life_ends_at = now + kAfterLife;
      close_when_idle();
    }
  }
}

void WebsocketSession::close_when_idle() {
  if (!lanes_.is_idle()) return;
  if (is_going_away_) request_close(WebsocketClose::kGoingAway, "server_draining");
  if (is_life_over_) request_close(WebsocketClose::kGoingAway, "end_of_life");
}

/// Sends what is there, then the close frame; responses under way are cancelled.
void WebsocketSession::request_close(WebsocketClose code, std::string_view reason) {
  if (close_request_) return;
  close_request_ = CloseRequest{code, reason};
  is_ending_ = true;
  cancel_everything(cancel_cause_);
  outbox_.close();
}

void WebsocketSession::cancel_everything(CancelCause cause) {
  lanes_.clear_pending();
  for (auto& [lane, active] : active_) {
    if (active.run != nullptr) active.run->cancel(cause);
  }
}

void WebsocketSession::stop(StopKind kind) {
  if (kind == StopKind::kNow) {
    stream_->abort();
    return;
  }
  is_going_away_ = true;
  cancel_cause_ = CancelCause::kDrain;
  close_when_idle();
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
