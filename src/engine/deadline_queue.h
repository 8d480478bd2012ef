#pragma once

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace paceline {

/// Time limits of live requests, nearest first. Engine thread.
class DeadlineQueue {
 public:
  enum class Kind { kTotal, kQueue };
  struct Expired {
    RequestId request;
    Kind kind;
  };

  void add(RequestId request, Kind kind, TimePoint at) { limits_.emplace(at, request, kind); }
  void remove(RequestId request, Kind kind, TimePoint at) { limits_.erase({at, request, kind}); }

  /// Removes and returns the limits at or before `now`.
  [[nodiscard]] std::vector<Expired> take_expired(TimePoint now) {
    std::vector<Expired> expired;
    while (!limits_.empty() && std::get<TimePoint>(*limits_.begin()) <= now) {
      expired.push_back({std::get<RequestId>(*limits_.begin()), std::get<Kind>(*limits_.begin())});
      limits_.erase(limits_.begin());
    }
    return expired;
  }
  [[nodiscard]] std::optional<TimePoint> nearest() const {
    if (limits_.empty()) return std::nullopt;
    return std::get<TimePoint>(*limits_.begin());
  }

 private:
  std::set<std::tuple<TimePoint, RequestId, Kind>> limits_;
};

}  // namespace paceline
