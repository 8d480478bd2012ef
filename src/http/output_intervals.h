#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace paceline {

/// Times between two outputs of the same choice, for the access log. The median is that of the
/// first 4 096 intervals, so a request's memory stays small. One thread.
class OutputIntervals {
 public:
  void note(int choice, TimePoint now);
  /// Milliseconds; nothing before the second output of a choice.
  [[nodiscard]] std::optional<double> median_ms() const;
  [[nodiscard]] std::optional<double> max_ms() const { return max_ms_; }

 private:
  std::vector<std::optional<TimePoint>> last_;  // by choice
  std::vector<float> intervals_ms_;
  std::optional<double> max_ms_;
};

}  // namespace paceline
