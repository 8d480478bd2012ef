#include "http/generation_stream.h"

#include <utility>

namespace paceline {

namespace asio = boost::asio;

GenerationStream::GenerationStream(ServiceState& service, std::shared_ptr<const ServedModel> model,
                                   RequestId id,
                                   std::shared_ptr<ConnectionOutput> connection_output,
                                   std::shared_ptr<AsyncEvent> event,
                                   std::shared_ptr<OutputStream> stream)
    : work_(service),
      model_(std::move(model)),
      id_(id),
      connection_output_(std::move(connection_output)),
      event_(std::move(event)),
      stream_(std::move(stream)) {
  connection_output_->add(*this);
}

GenerationStream::~GenerationStream() {
  if (!is_finished_) cancel(CancelCause::kDisconnect);
  stream_->close();
  connection_output_->remove(*this);
}

std::optional<GenerationEvent> GenerationStream::try_next() {
  connection_output_->note_level();
  auto event = stream_->try_pop();
  if (!event) return event;
  connection_output_->note_taken(std::holds_alternative<PromptLogprobs>(*event));
  is_finished_ = std::holds_alternative<RequestFinished>(*event) ||
                 std::holds_alternative<RequestFailed>(*event);
  return event;
}

asio::awaitable<std::optional<GenerationEvent>> GenerationStream::next(TimePoint deadline) {
  auto event = try_next();
  if (event || is_finished_) co_return event;
  const bool notified = co_await event_->wait_until(deadline);
  if (notified) event = try_next();
  co_return event;
}

void GenerationStream::cancel(CancelCause cause) {
  if (is_finished_ || std::exchange(is_cancelled_, true)) return;
  model_->engine->cancel(id_, cause);
}

void GenerationStream::resume() {
  if (!is_finished_) model_->engine->resume(id_);
}

std::optional<QueuePosition> GenerationStream::queue_position() const {
  const auto snapshot = model_->engine->snapshot();
  for (const auto& waiting : snapshot->waiting) {
    if (waiting.request != id_) continue;
    QueuePosition position{waiting.position, std::nullopt};
    if (waiting.estimated_start_ms >= 0) position.estimated_start_ms = waiting.estimated_start_ms;
    return position;
  }
  return std::nullopt;
}

}  // namespace paceline
