#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "engine/output_stream.h"
#include "engine/request.h"

namespace paceline {

/// A request on its way to the engine thread.
struct Submission {
  GenerationRequest request;
  std::shared_ptr<OutputStream> stream;
};

/// Everything that waited for the engine thread, in the order in which it is to be applied.
struct Commands {
  std::vector<Submission> submissions = {};
  std::unordered_map<RequestId, CancelCause> cancellations = {};
  std::unordered_set<RequestId> resumptions = {};
  std::optional<TimePoint> drain_deadline = {};
  bool is_stopping = false;
};

/// The way into the engine. Submissions are bounded and refused when full; cancellations and
/// resumptions never are: there is at most one of each per live request, and requests are live from
/// submit() to forget(). Any thread; take() and wait() belong to the engine thread.
class CommandQueue {
 public:
  /// Requires: max_submissions > 0.
  explicit CommandQueue(std::size_t max_submissions) : max_submissions_(max_submissions) {}

  /// Errors: kServerDraining after drain() or stop(); kServerOverloaded when full.
  [[nodiscard]] Result<void> submit(Submission submission);
  /// The first cause counts. No effect on a request that is not live.
  void cancel(RequestId id, CancelCause cause);
  void resume(RequestId id);
  /// Refuses new submissions; repeated calls only shorten the deadline.
  void drain(TimePoint deadline);
  /// Refuses new submissions and asks the engine thread to end.
  void stop();

  /// Takes everything that waits.
  [[nodiscard]] Commands take();
  /// Sleeps until something waits or `timeout` has passed; without a timeout until something waits.
  void wait(std::optional<Duration> timeout);
  /// The request has had its last event.
  void forget(RequestId id);
  [[nodiscard]] bool is_draining() const;
  /// Whether a drain has begun and no request is live.
  [[nodiscard]] bool is_drained() const;

 private:
  [[nodiscard]] bool has_commands() const;

  const std::size_t max_submissions_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  Commands waiting_;
  std::unordered_set<RequestId> live_;
  bool refuses_ = false;
};

}  // namespace paceline
