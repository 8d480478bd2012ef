#include "engine/rate_window.h"

#include <algorithm>

namespace paceline {
namespace {

std::int64_t second_of(TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

void RateWindow::add(TimePoint now, double amount) {
  const std::int64_t number = second_of(now);
  Second& second = seconds_[static_cast<std::size_t>(number % kSeconds)];
  if (second.number != number) second = {number, 0};
  second.sum += amount;
}

double RateWindow::per_second(TimePoint now, TimePoint start) const {
  const std::int64_t newest = second_of(now);
  double sum = 0;
  for (const Second& second : seconds_) {
    if (second.number > newest - kSeconds && second.number <= newest) sum += second.sum;
  }
  return sum / std::clamp(to_seconds(now - start), 1.0, static_cast<double>(kSeconds));
}

}  // namespace paceline
