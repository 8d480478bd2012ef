#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "sampling/row_scan.h"

namespace paceline {

struct ScoredToken {
  TokenId id;
  float logprob;  ///< ≤ 0, finite, floored at -9999
};

/// Log-probability of a chosen token and of the best ones, from the raw logits (API.md §3.4).
struct TokenLogprobs {
  ScoredToken chosen;
  std::vector<ScoredToken> top = {};  ///< falling; ties by lower id
};

/// Log-softmax of raw rows of logits. Keeps its working memory between rows; one per thread.
class LogprobsCalculator {
 public:
  /// Scores `chosen` and the `num_top` best tokens. Requires: `chosen` indexes the row.
  [[nodiscard]] TokenLogprobs score(std::span<const float> logits, TokenId chosen, int num_top);

 private:
  std::vector<float> block_max_;
  std::vector<RankedToken> best_;
};

}  // namespace paceline
