#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "engine/engine_snapshot.h"
#include "engine/rate_window.h"
#include "metrics/engine_metrics.h"
#include "scheduler/scheduler_snapshot.h"

namespace paceline {

/// What the engine loop knows beside the scheduler.
struct LoopState {
  bool has_work = false;
  TimePoint last_step_at{};
  std::string fault = {};  ///< empty while healthy
};

/// Makes the engine's state visible: publishes snapshots and moves the metrics that come from the
/// scheduler's own counters. publish() belongs to the engine thread; latest() to any.
class SnapshotPublisher {
 public:
  SnapshotPublisher(EngineMetrics& metrics, const Clock& clock, int block_size);

  /// `is_queued` tells whether a waiting sequence's request has not started yet.
  void publish(const SchedulerSnapshot& scheduler, const LoopState& loop,
               FunctionRef<bool(SequenceId)> is_queued);
  [[nodiscard]] TimePoint last_published_at() const { return last_published_at_; }
  /// Never null.
  [[nodiscard]] std::shared_ptr<const EngineSnapshot> latest() const;

 private:
  void count(const SchedulerSnapshot& scheduler);
  void count_tenants(const SchedulerSnapshot& scheduler);

  EngineMetrics& metrics_;
  const Clock& clock_;
  const int block_size_;
  const TimePoint started_at_;
  TimePoint last_published_at_{};
  RateWindow rate_;
  SchedulerSnapshot last_;  // what has been counted already
  mutable std::mutex mutex_;
  std::shared_ptr<const EngineSnapshot> latest_;  // guarded by mutex_
};

}  // namespace paceline
