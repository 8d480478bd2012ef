#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "engine/command_queue.h"
#include "engine/deadline_queue.h"
#include "engine/request_state.h"
#include "metrics/engine_metrics.h"
#include "scheduler/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// The live requests: takes them on, notes their start, ends them well or badly, and counts each
/// of these. Every request gets exactly one last event. Owned by the engine loop; engine thread.
class RequestTable {
 public:
  RequestTable(Scheduler& scheduler, const Tokenizer& tokenizer, EngineMetrics& metrics,
               CommandQueue& commands);

  /// Queues the request's sequences, or answers with the scheduler's refusal.
  void accept(Submission submission, TimePoint now);
  /// Notes that a sequence is in a step; the request's first one sends RequestStarted.
  void note_scheduled(SequenceId sequence, TimePoint now);
  /// Adds the cost of sequences that ended in a commit; a request without unfinished choices sends
  /// RequestFinished and is gone.
  void retire(std::span<const Scheduler::Retired> retired, TimePoint now);
  /// Ends a request whose last event is RequestFailed. No effect on an unknown id.
  void cancel(RequestId id, CancelCause cause, Error error, TimePoint now);
  void fail(RequestId id, const Error& error, TimePoint now);
  /// Ends a request whose `failure` is set.
  void fail_marked(RequestId id, TimePoint now);
  void fail_all(const Error& error, TimePoint now);
  /// Fails everything, now and later, without asking the scheduler, whose state is not to be
  /// trusted.
  void abandon_all(const Error& error, TimePoint now);
  void cancel_all(CancelCause cause, const Error& error, TimePoint now);
  /// Ends the requests whose time limit has passed.
  void expire(TimePoint now);
  /// Stops scheduling a request whose reader is slow, or goes on.
  void pause(RequestState& request);
  void resume(RequestId id);
  /// Goes on with every paused request whose reader has caught up.
  void resume_ready();

  /// Returns the live request of a sequence, or null.
  [[nodiscard]] RequestState* find(SequenceId sequence);
  [[nodiscard]] std::optional<TimePoint> nearest_deadline() const { return deadlines_.nearest(); }
  [[nodiscard]] bool is_empty() const { return requests_.empty(); }
  [[nodiscard]] std::size_t num_paused() const { return num_paused_; }

 private:
  using Requests = std::unordered_map<RequestId, std::unique_ptr<RequestState>>;

  void end_badly(Requests::iterator entry, const Error& error, RequestOutcome outcome,
                 FinishedReason reason, TimePoint now);
  void send_finished(Requests::iterator entry, TimePoint now);
  void count_end(const RequestState& request, RequestOutcome outcome);
  void forget(Requests::iterator entry);
  void set_paused(RequestState& request, bool paused);

  Scheduler& scheduler_;
  const Tokenizer& tokenizer_;
  EngineMetrics& metrics_;
  CommandQueue& commands_;
  Requests requests_;
  std::unordered_map<SequenceId, RequestState*> by_sequence_;
  DeadlineQueue deadlines_;
  std::uint64_t next_sequence_ = 1;
  std::size_t num_paused_ = 0;
  std::optional<Error> breakdown_;  ///< set by abandon_all()
};

}  // namespace paceline
