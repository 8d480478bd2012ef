#include "http/generation_answer.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "http/connection.h"
#include "http/generation_stream.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/server_context.h"
#include "http/sse_writer.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// Events that wait are sent in one write, up to about this size.
constexpr std::size_t kMaxWriteBytes = 65536;
// For the engine to confirm a cancellation, so that the log has the request's figures.
constexpr std::chrono::seconds kCancelTime{5};
// A request that is not streamed has no deadline of its own here; the wait is only cut in pieces.
constexpr std::chrono::seconds kWaitSlice{60};

void note_event(HttpExchange& exchange, const GenerationEvent& event) {
  note_generation_event(exchange.log(), event, exchange.context().clock.now());
}

/// Cancels a request whose client can no longer be answered, and waits until the engine let go of
/// it.
asio::awaitable<void> cancel_for_lost_client(HttpExchange& exchange, GenerationStream& stream) {
  const bool is_slow = exchange.connection().end() == ConnectionEnd::kSlowReader;
  const CancelCause cause = is_slow ? CancelCause::kSlowReader : CancelCause::kDisconnect;
  stream.cancel(cause);
  exchange.log().cancel_cause = std::string(label_value(cause));
  const TimePoint deadline = exchange.context().clock.now() + kCancelTime;
  while (!stream.is_finished() && exchange.context().clock.now() < deadline) {
    const auto event = co_await stream.next(deadline);
    if (event) note_event(exchange, *event);
  }
  exchange.abandon();
}

std::string keep_alive_text(const GenerationStream& stream) {
  const auto position = stream.queue_position();
  if (!position) return "keep-alive";
  std::string text = "queued position=" + std::to_string(position->position);
  if (position->estimated_start_ms) {
    const auto estimate = static_cast<std::int64_t>(std::llround(*position->estimated_start_ms));
    text += " estimated_start_ms=" + std::to_string(estimate);
  }
  return text;
}

/// What a stream's loop does next.
enum class Step { kGoOn, kAnswered, kClientLost };

class StreamedAnswer {
 public:
  StreamedAnswer(HttpExchange& exchange, GenerationStream& stream, AnswerShape& shape)
      : exchange_(exchange), stream_(stream), shape_(shape), sse_(exchange) {}

  asio::awaitable<void> run() {
    exchange_.watch_peer([this] { stream_.interrupt(); });
    set_keep_alive();
    Step step = Step::kGoOn;
    while (step == Step::kGoOn) step = co_await next_step();
    exchange_.watch_peer(nullptr);
    if (step == Step::kClientLost) co_await cancel_for_lost_client(exchange_, stream_);
  }

 private:
  asio::awaitable<Step> next_step() {
    if (exchange_.is_peer_gone()) co_return Step::kClientLost;
    auto event = stream_.try_next();
    if (event) co_return co_await on_event(*event);
    if (sse_.pending_bytes() > 0) co_return co_await flush();
    event = co_await stream_.next(keep_alive_at_);
    if (event) co_return co_await on_event(*event);
    if (exchange_.context().clock.now() < keep_alive_at_) co_return Step::kGoOn;
    sse_.comment(keep_alive_text(stream_));
    co_return co_await flush();
  }

  asio::awaitable<Step> on_event(const GenerationEvent& event) {
    note_event(exchange_, event);
    const auto* failed = std::get_if<RequestFailed>(&event);
    if (failed != nullptr && !sse_.has_begun()) {
      co_await exchange_.send_error(failed->error);
      co_return Step::kAnswered;
    }
    shape_.write_events(event, sse_);
    if (stream_.is_finished()) {
      const bool sent = co_await sse_.finish();
      co_return sent ? Step::kAnswered : Step::kClientLost;
    }
    if (sse_.pending_bytes() < kMaxWriteBytes) co_return Step::kGoOn;
    co_return co_await flush();
  }

  asio::awaitable<Step> flush() {
    const bool sent = co_await sse_.flush();
    set_keep_alive();
    co_return sent ? Step::kGoOn : Step::kClientLost;
  }

  void set_keep_alive() {
    const ServerContext& context = exchange_.context();
    keep_alive_at_ = context.clock.now() + context.options.sse_keep_alive;
  }

  HttpExchange& exchange_;
  GenerationStream& stream_;
  AnswerShape& shape_;
  SseWriter sse_;
  TimePoint keep_alive_at_{};
};

}  // namespace

asio::awaitable<void> send_streamed_answer(HttpExchange& exchange, GenerationStream& stream,
                                           AnswerShape& shape) {
  StreamedAnswer answer(exchange, stream, shape);
  co_await answer.run();
}

asio::awaitable<void> send_whole_answer(HttpExchange& exchange, GenerationStream& stream,
                                        AnswerShape& shape, int num_choices, int num_prompts) {
  exchange.watch_peer([&stream] { stream.interrupt(); });
  openai::ResultCollector collector(num_choices, num_prompts);
  std::optional<Error> failure;
  while (!stream.is_finished() && !exchange.is_peer_gone()) {
    auto event = co_await stream.next(exchange.context().clock.now() + kWaitSlice);
    if (!event) continue;
    note_event(exchange, *event);
    if (auto* failed = std::get_if<RequestFailed>(&*event)) {
      failure = std::move(failed->error);
    } else {
      collector.add(std::move(*event));
    }
  }
  exchange.watch_peer(nullptr);
  if (!stream.is_finished()) {
    co_await cancel_for_lost_client(exchange, stream);
  } else if (failure) {
    co_await exchange.send_error(std::move(*failure));
  } else {
    HttpResponse response = json_response(200, shape.body(collector.result()));
    co_await exchange.send(std::move(response));
  }
}

}  // namespace paceline
