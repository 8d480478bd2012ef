#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace paceline {

/// Messages on their way to one WebSocket. Several coroutines add, one sends. Bounded: whoever adds
/// waits while it is full, so that a slow reader holds back what its responses generate. Confined
/// to the connection's strand.
class WebsocketOutbox {
 public:
  /// Full from `max_bytes` on; the message that reaches it is still taken.
  WebsocketOutbox(const boost::asio::any_io_executor& executor, std::size_t max_bytes);

  /// Adds a message when there is room. False: closed, the message is dropped.
  [[nodiscard]] boost::asio::awaitable<bool> push(std::string message);
  /// Waits for the oldest message; empty once the outbox is closed and all have been taken.
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> pop();

  /// Takes no more messages; those that are there are still sent.
  void close();
  /// close(), and drops what is there.
  void discard();
  [[nodiscard]] bool is_closed() const { return is_closed_; }

 private:
  const std::size_t max_bytes_;
  std::deque<std::string> messages_;
  std::size_t bytes_ = 0;
  bool is_closed_ = false;
  boost::asio::steady_timer changed_;  // never expires; cancelling it wakes all that wait
};

}  // namespace paceline
