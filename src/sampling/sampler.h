#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "sampling/row_scan.h"
#include "sampling/sampling_params.h"

namespace paceline {

/// Picks a token from processed logits: argmax below temperature 1e-5, else a draw from the
/// softmax at that temperature, cut by top_k, then top_p (mass of what top_k left), then min_p.
/// The vocabulary is never sorted: the cuts select by partition. The result is a function of the
/// row, the parameters and the random number alone. Keeps its working memory between rows; one per
/// thread.
class Sampler {
 public:
  /// Temperatures below this mean argmax.
  static constexpr double kGreedyTemperature = 1e-5;

  /// `uniform` in [0, 1) decides the draw. Ties of the best token go to the lowest id.
  /// Errors: kEngineError when no entry is a finite number.
  [[nodiscard]] Result<TokenId> sample(std::span<const float> logits, const SamplingParams& params,
                                       double uniform);

 private:
  TokenId draw_from_all(std::span<const float> logits, float max, float scale, double uniform);
  TokenId draw_from_best(std::span<const float> logits, float max, float scale,
                         const SamplingParams& params, double uniform);
  void collect_nucleus(std::span<const float> logits, float max, float scale,
                       const SamplingParams& params);

  std::vector<float> block_max_;
  std::vector<float> weights_;      // by token
  std::vector<double> block_sums_;  // of weights_
  std::vector<RankedToken> candidates_;
};

}  // namespace paceline
