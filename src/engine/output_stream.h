#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace paceline {

/// Bytes of undelivered output of one connection, shared by its streams. Above the limit the
/// connection's sequences are not scheduled until it falls below half (API.md §1.5,
/// `http.write_buffer_bytes`). Any thread.
class OutputBudget {
 public:
  explicit OutputBudget(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void add(std::size_t bytes) { used_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove(std::size_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used_bytes() const {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_over_limit() const { return used_bytes() > limit_bytes_; }
  [[nodiscard]] bool is_below_half() const { return used_bytes() < limit_bytes_ / 2; }

 private:
  const std::size_t limit_bytes_;
  std::atomic<std::size_t> used_bytes_{0};
};

/// Events of one request on their way from the engine thread (the only producer) to its connection
/// (the only consumer). Bounded by the budget: the engine stops scheduling a request whose budget
/// is over its limit, so at most one step's events come on top. Shared by both sides; either may
/// outlive the other.
class OutputStream {
 public:
  /// `wake` is called on the producer's thread when the stream stops being empty, without a lock
  /// held; it must not block.
  OutputStream(std::shared_ptr<OutputBudget> budget, std::function<void()> wake);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  /// Producer: appends an event. Dropped when the consumer has closed the stream.
  void push(GenerationEvent event);
  /// Producer: whether the request may be scheduled.
  [[nodiscard]] const OutputBudget& budget() const { return *budget_; }

  /// Consumer: takes the oldest event.
  [[nodiscard]] std::optional<GenerationEvent> try_pop();
  /// Consumer: no further events; what is queued is dropped. A wake-up that is already under way on
  /// the producer's thread may still arrive.
  void close();

 private:
  struct Queued {
    GenerationEvent event;
    std::size_t bytes;
  };

  const std::shared_ptr<OutputBudget> budget_;
  std::mutex mutex_;
  std::shared_ptr<const std::function<void()>> wake_;  // null: closed
  std::deque<Queued> events_;
  std::size_t queued_bytes_ = 0;
};

}  // namespace paceline
