#include "engine/command_queue.h"

#include <algorithm>
#include <utility>

namespace paceline {

Result<void> CommandQueue::submit(Submission submission) {
  {
    const std::lock_guard lock(mutex_);
    if (refuses_) return fail(ErrorCode::kServerDraining, "the server is shutting down");
    if (waiting_.submissions.size() >= max_submissions_) {
      return fail(ErrorCode::kServerOverloaded, "too many requests wait for the engine");
    }
    live_.insert(submission.request.id);
    waiting_.submissions.push_back(std::move(submission));
  }
  arrived_.notify_one();
  return {};
}

void CommandQueue::cancel(RequestId id, CancelCause cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!live_.contains(id)) return;
    waiting_.cancellations.emplace(id, cause);
  }
  arrived_.notify_one();
}

void CommandQueue::resume(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    if (!live_.contains(id)) return;
    waiting_.resumptions.insert(id);
  }
  arrived_.notify_one();
}

void CommandQueue::drain(TimePoint deadline) {
  {
    const std::lock_guard lock(mutex_);
    refuses_ = true;
    waiting_.drain_deadline = std::min(deadline, waiting_.drain_deadline.value_or(deadline));
  }
  arrived_.notify_one();
}

void CommandQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    refuses_ = true;
    waiting_.is_stopping = true;
  }
  arrived_.notify_one();
}

Commands CommandQueue::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

void CommandQueue::wait(std::optional<Duration> timeout) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return has_commands(); };
  if (timeout) {
    arrived_.wait_for(lock, *timeout, ready);
  } else {
    arrived_.wait(lock, ready);
  }
}

void CommandQueue::forget(RequestId id) {
  const std::lock_guard lock(mutex_);
  live_.erase(id);
  waiting_.cancellations.erase(id);
  waiting_.resumptions.erase(id);
}

bool CommandQueue::is_draining() const {
  const std::lock_guard lock(mutex_);
  return refuses_;
}

bool CommandQueue::is_drained() const {
  const std::lock_guard lock(mutex_);
  return refuses_ && live_.empty();
}

bool CommandQueue::has_commands() const {
  return !waiting_.submissions.empty() || !waiting_.cancellations.empty() ||
         !waiting_.resumptions.empty() || waiting_.drain_deadline || waiting_.is_stopping;
}

}  // namespace paceline
