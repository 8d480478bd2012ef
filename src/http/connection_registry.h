#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/clock.h"
#include "http/connection.h"

namespace paceline {

/// Every open connection, so that a stop reaches all of them and knows when the last has ended. Any
/// thread.
class ConnectionRegistry {
 public:
  void add(std::shared_ptr<Connection> connection);
  void remove(const std::shared_ptr<Connection>& connection);
  [[nodiscard]] std::size_t size() const;

  /// Asks all connections, and those that are still added, to end.
  void stop_all(StopKind kind);
  /// Blocks until there is none; false when `deadline` came first.
  bool wait_until_empty(TimePoint deadline);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool is_stopping_ = false;
};

}  // namespace paceline
