#pragma once

#include <atomic>

#include "base/clock.h"

namespace paceline {

/// Clock that stands still until it is turned by hand. Any thread.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_.load(); }
  void advance(Duration duration) { now_ = now_.load() + duration; }

 private:
  std::atomic<TimePoint> now_{TimePoint{}};
};

}  // namespace paceline
