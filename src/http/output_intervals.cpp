#include "http/output_intervals.h"

#include <algorithm>

namespace paceline {
namespace {

constexpr std::size_t kMaxIntervals = 4096;

}  // namespace

void OutputIntervals::note(int choice, TimePoint now) {
  const auto index = static_cast<std::size_t>(choice);
  if (index >= last_.size()) last_.resize(index + 1);
  if (last_[index]) {
    const double interval_ms = to_ms(now - *last_[index]);
    max_ms_ = std::max(max_ms_.value_or(0), interval_ms);
    if (intervals_ms_.size() < kMaxIntervals) {
      intervals_ms_.push_back(static_cast<float>(interval_ms));
    }
  }
  last_[index] = now;
}

std::optional<double> OutputIntervals::median_ms() const {
  if (intervals_ms_.empty()) return std::nullopt;
  std::vector<float> sorted = intervals_ms_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace paceline
