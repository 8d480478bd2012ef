#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "engine/command_queue.h"
#include "engine/engine_options.h"
#include "engine/model_runner.h"
#include "engine/output_processor.h"
#include "engine/request_table.h"
#include "engine/snapshot_publisher.h"
#include "metrics/engine_metrics.h"
#include "scheduler/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// The engine thread's work: commands → schedule → run → process → commit, and rest when nothing
/// can run. Owns scheduler, runner and all requests. Owned by the Engine; engine thread.
class EngineLoop {
 public:
  struct Parts {
    std::unique_ptr<Scheduler> scheduler;
    std::unique_ptr<ModelRunner> runner;
    std::shared_ptr<const Tokenizer> tokenizer;
    EngineMetrics& metrics;
    const Clock& clock;
    ThreadPool* team;  ///< may be null
  };

  EngineLoop(const EngineOptions& options, Parts parts, CommandQueue& commands,
             SnapshotPublisher& publisher);

  /// Runs until the queue says stop; then every request has had its last event.
  void run();

 private:
  void apply(Commands commands);
  void enforce_time_limits();
  void step();
  /// Runs the model and turns its rows into events; returns what went wrong, if anything did.
  [[nodiscard]] std::optional<std::string> compute(const StepPlan& plan);
  void finish_step(const StepPlan& plan);
  /// Fails the requests of a step that could not be computed.
  void abandon_step(const StepPlan& plan, const std::string& what);
  void share_cpu(const StepPlan& plan, double cpu_seconds);
  void rest();
  void publish();
  void publish_if_due();
  /// Ends service after a broken invariant: everything fails, nothing new is taken.
  void break_down(const std::string& fault);
  [[nodiscard]] bool is_broken() const { return !state_.fault.empty(); }
  [[nodiscard]] bool has_work() const { return !is_broken() && scheduler_->has_work(); }
  [[nodiscard]] std::optional<Duration> time_to_wake() const;

  const EngineOptions options_;
  const std::unique_ptr<Scheduler> scheduler_;
  const std::unique_ptr<ModelRunner> runner_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  EngineMetrics& metrics_;
  const Clock& clock_;
  const int num_threads_;
  CommandQueue& commands_;
  SnapshotPublisher& publisher_;
  RequestTable requests_;
  OutputProcessor output_;
  LoopState state_;
  std::optional<TimePoint> drain_deadline_;
  bool is_stopping_ = false;
};

}  // namespace paceline
