#include "http/handlers/responses.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/async_event.h"
#include "http/connection.h"
#include "http/handlers/generation_call.h"
#include "http/handlers/request_parsing.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/openai/json_document.h"
#include "http/openai/plain_answers.h"
#include "http/openai/response_request.h"
#include "http/response_run.h"
#include "http/response_store.h"
#include "http/server_context.h"
#include "http/sse_writer.h"
#include "http/worker_queue.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// A response that is not streamed has no deadline of its own here; the wait is only cut in pieces.
constexpr std::chrono::seconds kWaitSlice{60};
// For a cancelled response to end: at most a few steps of the engine.
constexpr std::chrono::seconds kCancelTime{10};

/// Whether the query of a target has a parameter.
bool has_query_parameter(std::string_view target, std::string_view name) {
  const std::size_t mark = target.find('?');
  std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    if (parameter.substr(0, parameter.find('=')) == name) return true;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return false;
}

CancelCause cause_of_loss(const HttpExchange& exchange) {
  const bool is_slow = exchange.connection().end() == ConnectionEnd::kSlowReader;
  return is_slow ? CancelCause::kSlowReader : CancelCause::kDisconnect;
}

asio::awaitable<void> give_up(HttpExchange& exchange, ResponseRun& run) {
  co_await run.abandon(cause_of_loss(exchange));
  exchange.abandon();
}

asio::awaitable<void> send_streamed(HttpExchange& exchange, ResponseRun& run) {
  const auto keep_alive = exchange.context().options.sse_keep_alive;
  const Clock& clock = exchange.context().clock;
  SseWriter sse(exchange);
  exchange.watch_peer([&run] { run.interrupt(); });
  TimePoint keep_alive_at = clock.now() + keep_alive;
  bool is_delivered = true;
  while (is_delivered && !run.is_finished() && !exchange.is_peer_gone()) {
    const auto frames = co_await run.next(keep_alive_at);
    if (run.refusal()) break;
    for (const ResponseFrame& frame : frames) sse.event(frame.type, frame.json);
    if (frames.empty() && clock.now() >= keep_alive_at) sse.comment("keep-alive");
    if (sse.pending_bytes() == 0 || run.is_finished()) continue;
    is_delivered = co_await sse.flush();
    keep_alive_at = clock.now() + keep_alive;
  }
  exchange.watch_peer(nullptr);
  if (run.refusal() && !sse.has_begun()) {
    Error error = *run.refusal();
    co_await exchange.send_error(std::move(error));
  } else if (!is_delivered || !run.is_finished()) {
    co_await give_up(exchange, run);
  } else {
    const bool sent = co_await sse.finish();
    if (!sent) exchange.abandon();
  }
}

asio::awaitable<void> send_whole(HttpExchange& exchange, ResponseRun& run) {
  exchange.watch_peer([&run] { run.interrupt(); });
  run.announce();
  while (!run.is_finished() && !exchange.is_peer_gone()) {
    const auto frames = co_await run.next(exchange.context().clock.now() + kWaitSlice);
    static_cast<void>(frames);  // the object at the end has it all
  }
  exchange.watch_peer(nullptr);
  if (!run.is_finished()) {
    co_await give_up(exchange, run);
    co_return;
  }
  const openai::ResponseObject& response = run.response();
  if (response.error) {
    Error error = *response.error;
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  HttpResponse answer = json_response(200, openai::response_json(response));
  co_await exchange.send(std::move(answer));
}

/// The conversation that a request continues; null when it continues none.
Result<std::shared_ptr<const Conversation>> find_earlier(
    HttpExchange& exchange, const std::optional<std::string>& previous_id) {
  if (!previous_id) return nullptr;
  return exchange.context().responses.conversation(exchange.principal.tenant, *previous_id);
}

asio::awaitable<Result<std::unique_ptr<ResponseRun>>> start_run(
    HttpExchange& exchange, std::shared_ptr<const ServedModel> model,
    openai::ResponseRequest request) {
  auto earlier = find_earlier(exchange, request.previous_response_id);
  if (!earlier) co_return tl::unexpected(earlier.error());
  RequestLog& log = exchange.log();
  if (request.stream) log.transport = label_value(Transport::kSse);
  note_generation_fields(log, request.fields, request.stream, 1);
  ResponsePlan plan;
  plan.tenant = exchange.principal.tenant;
  plan.transport = request.stream ? Transport::kSse : Transport::kHttp;
  plan.priority = apply_field_headers(exchange, request.fields);
  log.priority = plan.priority;
  plan.earlier = std::move(*earlier);
  plan.timeout = exchange.timeout;
  plan.accepted_at = exchange.accepted_at();
  plan.request = std::move(request);
  auto run = co_await start_response(exchange.context(), std::move(model), exchange.connection(),
                                     std::move(plan), log);
  co_return run;
}

/// Renders and counts on a worker, without a limit.
asio::awaitable<Result<int>> count_input_tokens(HttpExchange& exchange,
                                                std::shared_ptr<const ServedModel> model,
                                                openai::InputTokensRequest request,
                                                std::shared_ptr<const Conversation> earlier) {
  auto work = [model = std::move(model), request = std::move(request),
               earlier = std::move(earlier)]() -> Result<int> {
    Conversation items;
    if (earlier) items = *earlier;
    if (auto checked = openai::check_function_results(items, request.input); !checked) {
      return tl::unexpected(checked.error());
    }
    items.insert(items.end(), request.input.begin(), request.input.end());
    const std::string* instructions = request.instructions ? &*request.instructions : nullptr;
    ChatTemplateOptions options;
    options.tools = openai::template_texts(request.tools.tools);
    const auto segments =
        model->chat_template->render(openai::to_messages(instructions, items), options);
    if (!segments) return tl::unexpected(segments.error());
    return static_cast<int>(model->tokenizer->encode_segments(*segments).size());
  };
  auto count = co_await exchange.context().workers.run(exchange.principal.tenant, std::move(work));
  co_return count;
}

}  // namespace

asio::awaitable<void> CreateResponseHandler::handle(HttpExchange& exchange) const {
  if (exchange.request().is_websocket_upgrade()) {
    Error error{ErrorCode::kMalformedRequest, "a WebSocket handshake is a GET"};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  auto model = exchange.context().service.accepting_model();
  if (!model) {
    co_await exchange.send_error(std::move(model.error()));
    co_return;
  }
  auto request = co_await parse_body<openai::ResponseRequest>(exchange, *model,
                                                              openai::parse_response_request);
  if (!request) {
    co_await exchange.send_error(std::move(request.error()));
    co_return;
  }
  const bool is_stream = request->stream;
  auto run = co_await start_run(exchange, std::move(*model), std::move(*request));
  if (!run) {
    co_await exchange.send_error(std::move(run.error()));
  } else if (is_stream) {
    co_await send_streamed(exchange, **run);
  } else {
    co_await send_whole(exchange, **run);
  }
}

asio::awaitable<void> GetResponseHandler::handle(HttpExchange& exchange) const {
  for (const std::string_view name : {"stream", "starting_after"}) {
    if (!has_query_parameter(exchange.request().target, name)) continue;
    Error error{ErrorCode::kUnsupportedParameter, "a stored response is not streamed",
                std::string(name)};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  auto json = exchange.context().responses.get(exchange.principal.tenant, exchange.path_id);
  if (!json) {
    co_await exchange.send_error(std::move(json.error()));
    co_return;
  }
  HttpResponse answer = json_response(200, std::move(*json));
  co_await exchange.send(std::move(answer));
}

asio::awaitable<void> DeleteResponseHandler::handle(HttpExchange& exchange) const {
  auto removed = exchange.context().responses.remove(exchange.principal.tenant, exchange.path_id);
  if (!removed) {
    co_await exchange.send_error(std::move(removed.error()));
    co_return;
  }
  HttpResponse answer = json_response(200, openai::write_response_deleted(exchange.path_id));
  co_await exchange.send(std::move(answer));
}

asio::awaitable<void> CancelResponseHandler::handle(HttpExchange& exchange) const {
  const std::string& body = exchange.request().body;
  if (!body.empty()) {
    const auto document = openai::JsonDocument::parse_object(body);
    if (!document) {
      Error error = document.error();
      co_await exchange.send_error(std::move(error));
      co_return;
    }
  }
  struct End {
    explicit End(const asio::any_io_executor& executor) : event(executor) {}
    AsyncEvent event;
    std::string json;
  };
  const asio::any_io_executor executor = exchange.executor();
  const auto end = std::make_shared<End>(executor);
  auto on_end = [end, executor](const std::string& json) {
    asio::post(executor, [end, json] {
      end->json = json;
      end->event.notify();
    });
  };
  auto found = exchange.context().responses.cancel(exchange.principal.tenant, exchange.path_id,
                                                   std::move(on_end));
  if (!found) {
    co_await exchange.send_error(std::move(found.error()));
    co_return;
  }
  const bool has_ended =
      co_await end->event.wait_until(exchange.context().clock.now() + kCancelTime);
  if (!has_ended) {
    Error error{ErrorCode::kEngineError, "the response did not end"};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  HttpResponse answer = json_response(200, std::move(end->json));
  co_await exchange.send(std::move(answer));
}

asio::awaitable<void> InputTokensHandler::handle(HttpExchange& exchange) const {
  auto model = exchange.context().service.accepting_model();
  if (!model) {
    co_await exchange.send_error(std::move(model.error()));
    co_return;
  }
  auto request = co_await parse_body<openai::InputTokensRequest>(
      exchange, *model, openai::parse_input_tokens_request);
  if (!request) {
    co_await exchange.send_error(std::move(request.error()));
    co_return;
  }
  if (!(*model)->is_called(request->model)) {
    Error error = model_not_found(request->model);
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  auto earlier = find_earlier(exchange, request->previous_response_id);
  if (!earlier) {
    co_await exchange.send_error(std::move(earlier.error()));
    co_return;
  }
  auto count = co_await count_input_tokens(exchange, std::move(*model), std::move(*request),
                                           std::move(*earlier));
  if (!count) {
    co_await exchange.send_error(std::move(count.error()));
    co_return;
  }
  HttpResponse answer = json_response(200, openai::write_input_tokens(*count));
  co_await exchange.send(std::move(answer));
}

}  // namespace paceline
