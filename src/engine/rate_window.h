#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace paceline {

/// Sum over the last 30 seconds, kept in whole seconds. One thread.
class RateWindow {
 public:
  void add(TimePoint now, double amount);
  /// Returns the average per second over the last 30 s, or since `start` when that is shorter.
  [[nodiscard]] double per_second(TimePoint now, TimePoint start) const;

 private:
  static constexpr std::int64_t kSeconds = 30;
  struct Second {
    std::int64_t number = -1;
    double sum = 0;
  };
  std::array<Second, kSeconds> seconds_;
};

}  // namespace paceline
