#include "sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace paceline {
namespace {

constexpr double kFloor = -9999;

// Not-a-number goes to the floor as well.
float to_logprob(float logit, double log_sum) {
  const double value = static_cast<double>(logit) - log_sum;
  return static_cast<float>(value > kFloor ? std::min(value, 0.0) : kFloor);
}

}  // namespace

TokenLogprobs LogprobsCalculator::score(std::span<const float> logits, TokenId chosen,
                                        int num_top) {
  DCHECK(index_of(chosen) < logits.size());
  const float max = scan_maxima(logits, block_max_);
  // A row without a finite largest entry has no distribution: everything goes to the floor.
  const double log_sum = std::isfinite(max)
                             ? static_cast<double>(max) + std::log(exp_sum(logits, max))
                             : std::numeric_limits<double>::quiet_NaN();
  TokenLogprobs out{.chosen = {chosen, to_logprob(logits[index_of(chosen)], log_sum)}};
  if (num_top <= 0) return out;
  collect_best(logits, block_max_, static_cast<std::size_t>(num_top), best_);
  std::sort(best_.begin(), best_.end(), ranks_before);
  out.top.reserve(best_.size());
  for (const RankedToken& token : best_) {
    out.top.push_back({token.id, to_logprob(token.value, log_sum)});
  }
  return out;
}

}  // namespace paceline
