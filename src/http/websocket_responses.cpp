#include "http/websocket_responses.h"

#include <utility>

#include "http/connection.h"
#include "http/error_response.h"
#include "http/handlers/generation_call.h"
#include "http/handlers/request_parsing.h"
#include "http/http_options.h"
#include "http/openai/error_body.h"
#include "http/openai/json_writer.h"
#include "http/random_ids.h"
#include "http/server_context.h"
#include "http/worker_queue.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// Status of the access log for a client that left before its answer was complete.
constexpr int kClientClosed = 499;

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

}  // namespace

WebsocketResponses::WebsocketResponses(ServerContext& context, Connection& connection,
                                       Principal principal, std::string request_id,
                                       WebsocketHost& host)
    : context_(context),
      connection_(connection),
      principal_(std::move(principal)),
      request_id_(std::move(request_id)),
      host_(host),
      lanes_(lane_limits(context.options.websocket)),
      conversations_(context.options.websocket.cache_responses,
                     context.options.websocket.cache_bytes) {}

void WebsocketResponses::end(CancelCause cause) {
  if (end_cause_) return;
  end_cause_ = cause;
  lanes_.clear_pending();
  for (auto& [lane, active] : active_) {
    if (active.run != nullptr) active.run->cancel(cause);
  }
}

asio::awaitable<void> WebsocketResponses::on_message(std::string text) {
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

asio::awaitable<openai::ClientMessage> WebsocketResponses::parse(std::string text) {
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

asio::awaitable<void> WebsocketResponses::on_create(LaneName lane, openai::CreateMessage message,
                                                    std::size_t bytes) {
  const TimePoint now = context_.clock.now();
  Result<void> accepted;
  if (is_life_over_) {
    accepted = fail(ErrorCode::kWebsocketConnectionLimitReached,
                    "this connection has reached the end of its life; open a new one");
  } else if (auto model = context_.service.accepting_model(); !model) {
    accepted = tl::unexpected(model.error());
  } else {
    accepted = lanes_.add({lane, std::move(message), bytes, now});
  }
  if (!accepted) {
    RequestLog log = make_log(lane, now);
    co_await refuse(std::move(lane), std::move(accepted.error()), std::move(log));
  } else {
    start_ready();
  }
}

asio::awaitable<void> WebsocketResponses::on_cancel(LaneName lane, openai::CancelMessage message) {
  bool found = false;
  if (message.response_id) {
    found = context_.responses.cancel_running(principal_.tenant, *message.response_id);
  } else {
    found = co_await cancel_lane(lane);
  }
  if (found) co_return;
  RequestLog log = make_log(lane, context_.clock.now());
  Error error{ErrorCode::kResponseNotFound, "there is nothing to cancel"};
  co_await refuse(std::move(lane), std::move(error), std::move(log));
}

/// Cancels what runs and what waits in a lane; false when there is nothing.
asio::awaitable<bool> WebsocketResponses::cancel_lane(LaneName lane) {
  bool found = false;
  const auto active = active_.find(lane);
  if (active != active_.end()) {
    found = true;
    active->second.is_cancelled = true;
    if (active->second.run != nullptr) active->second.run->cancel(CancelCause::kApi);
  }
  const std::vector<QueuedCreate> pending = lanes_.take_pending(lane);
  for (const QueuedCreate& create : pending) {
    found = true;
    RequestLog log = make_log(lane, create.received_at);
    Error error{ErrorCode::kRequestCancelled, "cancelled before it began"};
    co_await refuse(lane, std::move(error), std::move(log));
  }
  co_return found;
}

void WebsocketResponses::start_ready() {
  while (!end_cause_) {
    auto create = lanes_.take_ready();
    if (!create) return;
    active_.insert_or_assign(create->lane, ActiveCreate{});
    host_.spawn(run_create(std::move(*create)));
  }
}

asio::awaitable<void> WebsocketResponses::run_create(QueuedCreate create) {
  const LaneName lane = create.lane;
  RequestLog log = make_log(lane, create.received_at);
  auto run = co_await start_run(create, log);
  std::optional<Error> failure;
  if (run) {
    ActiveCreate& active = active_[lane];
    active.run = run->get();
    if (active.is_cancelled) (*run)->cancel(CancelCause::kApi);
    if (end_cause_) (*run)->cancel(*end_cause_);
    co_await send_frames(**run, create, log);
    failure = (*run)->refusal();
    if (!failure) {
      log.status = end_cause_ ? kClientClosed : 200;
      write_request_log(context_.logger, log, context_.clock.now());
    }
  } else {
    failure = std::move(run.error());
  }
  if (failure) co_await refuse(lane, std::move(*failure), std::move(log));
  active_.erase(lane);
  lanes_.finish(lane);
  start_ready();
  host_.on_response_end();
}

asio::awaitable<Result<std::unique_ptr<ResponseRun>>> WebsocketResponses::start_run(
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
      co_await start_response(context_, std::move(*model), connection_, std::move(plan), log);
  co_return run;
}

/// Sends everything a response makes, up to its end.
asio::awaitable<void> WebsocketResponses::send_frames(ResponseRun& run, const QueuedCreate& create,
                                                      RequestLog& log) {
  const bool shows_limits = create.message.include_rate_limits;
  while (!run.is_finished()) {
    std::vector<ResponseFrame> frames = co_await run.next(TimePoint::max());
    // Before the client knows of the end, so that it can continue at once.
    if (run.conversation()) conversations_.add(run.response().id, run.conversation());
    for (ResponseFrame& frame : frames) {
      const bool is_created = frame.type == "response.created";
      log.bytes_out += frame.json.size();
      bool sent = co_await host_.send(std::move(frame.json));
      if (sent && shows_limits && is_created) {
        sent = co_await host_.send(rate_limits_frame(create.lane));
      }
      if (sent) continue;
      co_await run.abandon(end_cause_.value_or(CancelCause::kDisconnect));
      co_return;
    }
  }
  if (!shows_limits || run.refusal()) co_return;
  const bool sent = co_await host_.send(rate_limits_frame(create.lane));
  static_cast<void>(sent);  // the last frame: nothing depends on it
}

Result<std::shared_ptr<const Conversation>> WebsocketResponses::find_conversation(
    const std::string& id) {
  if (auto conversation = conversations_.find(id)) return conversation;
  return context_.responses.conversation(principal_.tenant, id);
}

asio::awaitable<void> WebsocketResponses::refuse(LaneName lane, Error error, RequestLog log) {
  const openai::ErrorKind kind = openai::error_kind(error.code);
  count_error(context_.metrics, error.code);
  log.status = kind.http_status;
  log.code = std::string(kind.code);
  write_request_log(context_.logger, log, context_.clock.now());
  if (kind.http_status < 500) host_.on_refusal();
  const std::string* stream_id = lane ? &*lane : nullptr;
  std::string frame =
      openai::websocket_error(error, stream_id, retry_after(error.code, context_.service));
  const bool sent = co_await host_.send(std::move(frame));
  static_cast<void>(sent);  // the connection ends: nobody is left to tell
}

RequestLog WebsocketResponses::make_log(const LaneName& lane, TimePoint started_at) const {
  RequestLog log;
  log.id = random_object_id(openai::IdKind::kRequest);
  log.request_id = request_id_;
  log.tenant = principal_.tenant_name;
  log.key_id = principal_.key_id;
  log.api = label_value(HttpApi::kResponses);
  log.transport = label_value(Transport::kWs);
  log.route = "GET /v1/responses";
  log.stream_id = lane;
  log.peer = connection_.peer();
  log.started_at = started_at;
  return log;
}

}  // namespace paceline
