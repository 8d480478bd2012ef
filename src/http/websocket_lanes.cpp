#include "http/websocket_lanes.h"

#include <utility>

namespace paceline {

WebsocketLanes::WebsocketLanes(const Limits& limits) : limits_(limits) {}

Result<void> WebsocketLanes::add(QueuedCreate create) {
  const std::size_t num_named = known_.size() - known_.count(std::nullopt);
  const bool is_new = !known_.contains(create.lane);
  if (create.lane && is_new && num_named >= limits_.max_named_lanes) {
    return fail(ErrorCode::kWebsocketStreamLimitReached,
                "a connection can have " + std::to_string(limits_.max_named_lanes) +
                    " named streams over its life",
                "stream_id");
  }
  // One that can run at once does not wait, whatever waits for a busy lane.
  const bool can_run = running_.size() < limits_.max_running && !running_.contains(create.lane);
  const bool has_room = pending_.size() < limits_.max_pending &&
                        pending_bytes_ + create.bytes <= limits_.max_pending_bytes;
  if (!can_run && !has_room) {
    return fail(ErrorCode::kWebsocketQueueFull, "too many creates are waiting on this connection");
  }
  known_.insert(create.lane);
  pending_bytes_ += create.bytes;
  pending_.push_back(std::move(create));
  return {};
}

std::optional<QueuedCreate> WebsocketLanes::take_ready() {
  if (running_.size() >= limits_.max_running) return std::nullopt;
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    if (running_.contains(it->lane)) continue;
    QueuedCreate create = std::move(*it);
    pending_.erase(it);
    pending_bytes_ -= create.bytes;
    running_.insert(create.lane);
    return create;
  }
  return std::nullopt;
}

void WebsocketLanes::finish(const LaneName& lane) { running_.erase(lane); }

std::vector<QueuedCreate> WebsocketLanes::take_pending(const LaneName& lane) {
  std::vector<QueuedCreate> taken;
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->lane != lane) {
      ++it;
      continue;
    }
    pending_bytes_ -= it->bytes;
    taken.push_back(std::move(*it));
    it = pending_.erase(it);
  }
  return taken;
}

void WebsocketLanes::clear_pending() {
  pending_.clear();
  pending_bytes_ = 0;
}

}  // namespace paceline
