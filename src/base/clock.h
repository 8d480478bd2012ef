#pragma once

#include <chrono>

namespace paceline {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

/// Source of monotonic time, passed in so that tests can turn it by hand. Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// Converts a duration to fractional seconds, the unit of all metrics.
inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
/// Converts a duration to fractional milliseconds, the unit of receipts and logs.
inline double to_ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace paceline
