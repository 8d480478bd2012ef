#include "http/connection_registry.h"

#include <utility>

namespace paceline {

void ConnectionRegistry::add(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) connection->stop(StopKind::kGoingAway);
  connections_.insert(std::move(connection));
}

void ConnectionRegistry::remove(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
  if (connections_.empty()) changed_.notify_all();
}

std::size_t ConnectionRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void ConnectionRegistry::stop_all(StopKind kind) {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  for (const auto& connection : connections_) connection->stop(kind);
}

bool ConnectionRegistry::wait_until_empty(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return connections_.empty(); });
}

}  // namespace paceline
