#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "http/openai/websocket_message.h"

namespace paceline {

/// A lane's name; absent: the default lane.
using LaneName = std::optional<std::string>;

/// A create that waits for its turn.
struct QueuedCreate {
  LaneName lane = {};
  openai::CreateMessage message = {};
  std::size_t bytes = 0;  ///< size of the message it came in
  TimePoint received_at{};
};

/// Which creates of one WebSocket run and which wait (API.md §5.3, "Lane rule"): one at a time in a
/// lane, first in first out; a bounded number over all lanes. Plain bookkeeping, one thread.
class WebsocketLanes {
 public:
  struct Limits {
    std::size_t max_named_lanes = 32;  ///< distinct names over the connection's life
    std::size_t max_running = 16;      ///< creates at once
    std::size_t max_pending = 64;      ///< creates that wait
    std::size_t max_pending_bytes = std::size_t{1} << 24;  ///< size of their messages
  };

  explicit WebsocketLanes(const Limits& limits);

  /// Queues a create. Errors: kWebsocketStreamLimitReached; kWebsocketQueueFull.
  [[nodiscard]] Result<void> add(QueuedCreate create);
  /// Takes the oldest create that may run now; its lane is busy until finish().
  [[nodiscard]] std::optional<QueuedCreate> take_ready();
  void finish(const LaneName& lane);
  /// Takes the creates of a lane that wait.
  [[nodiscard]] std::vector<QueuedCreate> take_pending(const LaneName& lane);
  void clear_pending();

  [[nodiscard]] bool is_idle() const { return running_.empty() && pending_.empty(); }
  /// Lanes used so far, the default lane among them.
  [[nodiscard]] std::size_t num_lanes() const { return known_.size(); }

 private:
  const Limits limits_;
  std::set<LaneName> known_;
  std::set<LaneName> running_;
  std::list<QueuedCreate> pending_;  // in order of arrival
  std::size_t pending_bytes_ = 0;
};

}  // namespace paceline
