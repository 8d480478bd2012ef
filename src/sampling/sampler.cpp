#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paceline {
namespace {

// Ranges shorter than this are sorted rather than partitioned further.
constexpr std::size_t kSortBelow = 64;

// Turns logits into weights; the order of the tokens stays.
void to_weights(std::vector<RankedToken>& tokens, float max, float scale) {
  for (RankedToken& token : tokens) token.value = exp_nonpositive((token.value - max) * scale);
}

double mass_of(std::span<const RankedToken> tokens) {
  double mass = 0;
  for (const RankedToken& token : tokens) mass += static_cast<double>(token.value);
  return mass;
}

// Keeps the smallest set of best tokens whose weights reach `target`, at least one: halves the
// range that holds the boundary until it is short.
void keep_mass(std::vector<RankedToken>& tokens, double target) {
  std::size_t low = 0;
  std::size_t high = tokens.size();
  double mass = 0;  // of [0, low)
  while (high - low > kSortBelow) {
    const std::size_t middle = low + (high - low) / 2;
    const auto at = [&](std::size_t i) { return tokens.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(low), at(middle), at(high), ranks_before);
    const double upper = mass_of(std::span(tokens).subspan(low, middle - low));
    if (mass + upper >= target) {
      high = middle;
    } else {
      mass += upper;
      low = middle;
    }
  }
  std::sort(tokens.begin() + static_cast<std::ptrdiff_t>(low),
            tokens.begin() + static_cast<std::ptrdiff_t>(high), ranks_before);
  std::size_t kept = low;
  while (kept < high && (kept == 0 || mass < target)) {
    mass += static_cast<double>(tokens[kept].value);
    ++kept;
  }
  tokens.resize(kept);
}

// Returns the token at the given share of the mass. Requires: tokens not empty.
TokenId draw(std::span<const RankedToken> tokens, double uniform) {
  double left = uniform * mass_of(tokens);
  for (const RankedToken& token : tokens) {
    left -= static_cast<double>(token.value);
    if (left < 0) return token.id;
  }
  // Rounding may leave a rest; the last token that can be drawn takes it.
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(),
                                 [](const RankedToken& token) { return token.value > 0; });
  return last == tokens.rend() ? tokens.front().id : last->id;
}

// Appends the tokens of a block whose weight is at least `lowest` and above 0. Written without a
// branch per token, since which tokens pass is as good as random.
void append_from(std::span<const float> weights, std::size_t block, float lowest,
                 std::vector<RankedToken>& tokens) {
  const std::size_t begin = block * kScanBlock;
  const std::size_t end = std::min(begin + kScanBlock, weights.size());
  std::array<RankedToken, kScanBlock> passed;
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    passed[count] = {static_cast<TokenId>(i), weights[i]};
    count += static_cast<std::size_t>((weights[i] >= lowest) & (weights[i] > 0));
  }
  tokens.insert(tokens.end(), passed.begin(), passed.begin() + static_cast<std::ptrdiff_t>(count));
}

bool has_cut(const SamplingParams& params, std::size_t vocab_size) {
  return (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < vocab_size) ||
         params.top_p < 1 || params.min_p > 0;
}

}  // namespace

Result<TokenId> Sampler::sample(std::span<const float> logits, const SamplingParams& params,
                                double uniform) {
  const float max = scan_maxima(logits, block_max_);
  if (!std::isfinite(max)) {
    return fail(ErrorCode::kEngineError, "the model gave no finite logits");
  }
  if (params.temperature < kGreedyTemperature) {
    return static_cast<TokenId>(first_index_of(logits, max, block_max_));
  }
  const auto scale = static_cast<float>(1 / params.temperature);
  if (!has_cut(params, logits.size())) return draw_from_all(logits, max, scale, uniform);
  return draw_from_best(logits, max, scale, params, uniform);
}

TokenId Sampler::draw_from_all(std::span<const float> logits, float max, float scale,
                               double uniform) {
  weights_.resize(logits.size());
  double left = uniform * exp_weights(logits, max, scale, weights_, block_sums_);
  std::size_t block = 0;
  while (block + 1 < block_sums_.size() && left >= block_sums_[block]) left -= block_sums_[block++];
  // The boundary between two blocks is a rounded sum, so the walk may go on into later blocks.
  for (std::size_t i = block * kScanBlock; i < weights_.size(); ++i) {
    left -= static_cast<double>(weights_[i]);
    if (left < 0 && weights_[i] > 0) return static_cast<TokenId>(i);
  }
  return static_cast<TokenId>(first_index_of(logits, max, block_max_));
}

TokenId Sampler::draw_from_best(std::span<const float> logits, float max, float scale,
                                const SamplingParams& params, double uniform) {
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < logits.size()) {
    collect_best(logits, block_max_, static_cast<std::size_t>(params.top_k), candidates_);
    to_weights(candidates_, max, scale);
    if (params.top_p < 1) keep_mass(candidates_, params.top_p * mass_of(candidates_));
  } else {
    collect_nucleus(logits, max, scale, params);
  }
  if (params.min_p > 0) {
    // The best token weighs exactly 1.
    const auto lowest = static_cast<float>(params.min_p);
    std::erase_if(candidates_, [&](const RankedToken& token) { return token.value < lowest; });
  }
  return draw(candidates_, uniform);
}

void Sampler::collect_nucleus(std::span<const float> logits, float max, float scale,
                              const SamplingParams& params) {
  weights_.resize(logits.size());
  const double total = exp_weights(logits, max, scale, weights_, block_sums_);
  // Tokens below an equal share of the mass that may be left out can all be left out together; half
  // of it keeps clear of rounding. Without top_p the best token weighs 1, so min_p is the bound.
  const double share = (1 - params.top_p) * total / static_cast<double>(logits.size());
  const auto lowest = static_cast<float>(params.top_p < 1 ? share / 2 : params.min_p);
  candidates_.clear();
  for (std::size_t b = 0; b < block_max_.size(); ++b) {
    if (exp_nonpositive((block_max_[b] - max) * scale) < lowest) continue;
    append_from(weights_, b, lowest, candidates_);
  }
  if (params.top_p < 1) keep_mass(candidates_, params.top_p * total);
}

}  // namespace paceline
