#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace paceline {

/// First-in first-out queue with a fixed bound; any number of producers and consumers. When full,
/// `try_push` refuses and the caller answers for it. Any thread.
template <typename T>
class BoundedQueue {
 public:
  /// Requires: capacity > 0 (elements).
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) { CHECK(capacity > 0); }

  /// Appends `value`; returns false and leaves it untouched when the queue is full or closed.
  [[nodiscard]] bool try_push(T&& value) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(value));
    }
    ready_.notify_one();
    return true;
  }

  /// Takes the oldest element, or nothing when the queue is empty.
  [[nodiscard]] std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take();
  }

  /// Waits until there is an element, the queue is closed or `deadline` passes; empty in the last
  /// two cases.
  [[nodiscard]] std::optional<T> pop_until(TimePoint deadline) {
    std::unique_lock lock(mutex_);
    ready_.wait_until(lock, deadline, [this] { return closed_ || !items_.empty(); });
    return take();
  }

  /// Waits until there is an element or the queue is closed and empty.
  [[nodiscard]] std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take();
  }

  /// Refuses further elements and wakes all waiting consumers; elements already queued can still be
  /// taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> take() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    return value;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace paceline
