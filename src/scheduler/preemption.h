#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace paceline {

/// A sequence whose blocks or place in the batch could be taken.
struct VictimCandidate {
  bool is_paused = false;
  std::uint64_t arrival = 0;
};

/// Returns the index of the sequence to preempt: a paused one before any other, the newest of each
/// kind; nothing when there is no candidate. Because the newest goes first, the oldest sequence
/// always keeps its blocks, and so some sequence always progresses.
[[nodiscard]] std::optional<std::size_t> pick_victim(std::span<const VictimCandidate> candidates);

}  // namespace paceline
