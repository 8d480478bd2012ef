#pragma once

#include <cstdint>

namespace paceline {

/// Counter-based random numbers of one choice: a pure function of (seed, choice index, position),
/// so the numbers of a choice depend neither on the batch nor on how often a step is repeated.
/// Immutable; any thread.
class RandomStream {
 public:
  RandomStream(std::int64_t seed, int choice_index);

  /// Returns a number in [0, 1) for the generated token at `position` (0 is the first).
  [[nodiscard]] double uniform(std::uint64_t position) const;

 private:
  std::uint64_t key_;
};

/// Returns an unpredictable seed, for requests that name none.
[[nodiscard]] std::int64_t random_seed();

}  // namespace paceline
