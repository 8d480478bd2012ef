#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "engine/engine_options.h"
#include "engine/engine_snapshot.h"
#include "engine/output_stream.h"
#include "engine/request.h"

namespace paceline {

class EngineMetrics;
class ModelRunner;
class Scheduler;
class ThreadPool;
class Tokenizer;

/// Runs accepted requests: commands → schedule → run → process → commit, on one thread that owns
/// scheduler, pool and all sequences. Everything else talks to it through a bounded command queue
/// (submit, cancel, resume, drain) and one bounded OutputStream per request. Owned by the app;
/// lives as long as the server.
class Engine {
 public:
  /// `team`: the compute team, whose worker 0 the engine thread becomes; rows are sampled on it.
  /// Null: the engine thread samples alone. It must outlive the engine, like `metrics` and `clock`.
  Engine(EngineOptions options, std::unique_ptr<Scheduler> scheduler,
         std::unique_ptr<ModelRunner> runner, std::shared_ptr<const Tokenizer> tokenizer,
         EngineMetrics& metrics, const Clock& clock, ThreadPool* team = nullptr);
  /// Stops: running requests fail with kServerDraining.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts the engine thread.
  void start();
  /// Ends the engine thread; requests still there fail with kServerDraining.
  void stop();

  /// Hands a request over; its events arrive on the stream. `wake` as in OutputStream. Any thread.
  /// Errors: kServerOverloaded when the command queue is full; kServerDraining; kInvalidValue for a
  /// request without prompts, with an empty one or with undefined ids. Later refusals (queue bound,
  /// capacity) come as RequestFailed before any RequestStarted.
  [[nodiscard]] Result<std::shared_ptr<OutputStream>> submit(GenerationRequest request,
                                                             std::shared_ptr<OutputBudget> budget,
                                                             std::function<void()> wake);
  /// Ends a request in whatever phase it is; its last event is RequestFailed kRequestCancelled. An
  /// unknown or finished id has no effect. Never refused. Any thread.
  void cancel(RequestId id, CancelCause cause);
  /// The consumer's budget fell from half of its limit or more to less: the request may be
  /// scheduled again. To be called for every request of the connection at every such fall. Any
  /// thread.
  void resume(RequestId id);
  /// Refuses new work; at `deadline` waiting and running requests fail with kServerDraining.
  /// Repeated calls only shorten the deadline. Any thread.
  void drain(TimePoint deadline);
  /// Whether a drain has begun and no request is left. Any thread.
  [[nodiscard]] bool is_drained() const;

  /// Next unused id. Any thread.
  [[nodiscard]] RequestId next_request_id();
  /// Newest published state; never null. Any thread.
  [[nodiscard]] std::shared_ptr<const EngineSnapshot> snapshot() const;
  [[nodiscard]] const EngineOptions& options() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
