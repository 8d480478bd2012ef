#pragma once

#include <vector>

#include "base/ids.h"

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

}  // namespace paceline
