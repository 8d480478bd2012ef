#include "scheduler/preemption.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

TEST(PreemptionTest, PausedBeforeOthersThenTheNewest) {
  struct Case {
    std::vector<VictimCandidate> candidates;
    std::optional<std::size_t> victim;
  };
  const std::vector<Case> cases = {
      {{}, std::nullopt},
      {{{false, 4}}, 0},
      {{{false, 4}, {false, 9}, {false, 7}}, 1},
      {{{true, 1}, {false, 9}}, 0},
      {{{true, 1}, {true, 3}, {false, 9}}, 1},
  };

  for (const Case& c : cases) EXPECT_EQ(pick_victim(c.candidates), c.victim);
}

}  // namespace
}  // namespace paceline
