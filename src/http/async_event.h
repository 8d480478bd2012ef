#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"

namespace paceline {

/// Lets one coroutine wait for something that happens elsewhere on its executor. A notification
/// without a waiter is kept for the next wait; several are one. Confined to the executor (a
/// strand); other threads post there first.
class AsyncEvent {
 public:
  explicit AsyncEvent(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  /// Wakes the waiter.
  void notify();
  /// Waits for a notification; returns whether one came before `deadline`. One waiter at a time.
  [[nodiscard]] boost::asio::awaitable<bool> wait_until(TimePoint deadline);

 private:
  boost::asio::steady_timer timer_;
  bool is_notified_ = false;
};

}  // namespace paceline
