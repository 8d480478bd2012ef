#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/output_stream.h"
#include "engine/request.h"
#include "http/async_event.h"
#include "http/connection_output.h"
#include "http/service_state.h"

namespace paceline {

/// Where a waiting request stands in its tenant's queue.
struct QueuePosition {
  int position = 0;                               ///< 1 = next
  std::optional<double> estimated_start_ms = {};  ///< from now
};

/// The reading end of one request in the engine, on a connection's strand. Counts as generation
/// work in progress while it lives; a stream that is destroyed before its last event cancels its
/// request.
class GenerationStream {
 public:
  /// `request` has been submitted with a wake-up that calls `event`'s notify on `executor`.
  GenerationStream(ServiceState& service, std::shared_ptr<const ServedModel> model, RequestId id,
                   std::shared_ptr<ConnectionOutput> connection_output,
                   std::shared_ptr<AsyncEvent> event, std::shared_ptr<OutputStream> stream);
  ~GenerationStream();
  GenerationStream(const GenerationStream&) = delete;
  GenerationStream& operator=(const GenerationStream&) = delete;

  [[nodiscard]] RequestId id() const { return id_; }
  [[nodiscard]] const ServedModel& model() const { return *model_; }

  /// Takes the oldest event if there is one. Lets the connection's paused requests run again when
  /// enough has been taken.
  [[nodiscard]] std::optional<GenerationEvent> try_next();
  /// Waits for an event until `deadline`; empty when none came or interrupt() was called.
  [[nodiscard]] boost::asio::awaitable<std::optional<GenerationEvent>> next(TimePoint deadline);
  /// Makes a waiting next() return; a later one returns at once, one time.
  void interrupt() { event_->notify(); }

  /// Ends the request; its last event is still delivered. Further calls have no effect.
  void cancel(CancelCause cause);
  /// The connection takes output again: a paused request may run.
  void resume();
  [[nodiscard]] bool is_finished() const { return is_finished_; }

  /// Empty when the request is not waiting.
  [[nodiscard]] std::optional<QueuePosition> queue_position() const;

 private:
  ServiceState::Work work_;
  const std::shared_ptr<const ServedModel> model_;
  const RequestId id_;
  const std::shared_ptr<ConnectionOutput> connection_output_;
  const std::shared_ptr<AsyncEvent> event_;
  const std::shared_ptr<OutputStream> stream_;
  bool is_finished_ = false;
  bool is_cancelled_ = false;
};

}  // namespace paceline
