#include "scheduler/preemption.h"

#include <algorithm>
#include <tuple>

namespace paceline {

std::optional<std::size_t> pick_victim(std::span<const VictimCandidate> candidates) {
  const auto victim = std::ranges::max_element(
      candidates, {}, [](const VictimCandidate& c) { return std::tuple(c.is_paused, c.arrival); });
  if (victim == candidates.end()) return std::nullopt;
  return static_cast<std::size_t>(victim - candidates.begin());
}

}  // namespace paceline
