#pragma once

#include "scheduler/cost_model.h"

namespace paceline {

/// Returns how long a step may take: the target, or twice the target where decoding alone is
/// predicted to take longer, so that prompts still move.
[[nodiscard]] double step_limit_ms(double decode_ms, double target_ms);

/// What a prompt may take of a step.
struct ChunkRequest {
  int start = 0;          ///< first position to compute
  int max_tokens = 0;     ///< remaining tokens, cut by what blocks, rows and options allow
  int min_tokens = 0;     ///< chunks smaller than this are not worth their step; ≤ max_tokens
  bool is_first = false;  ///< first prompt of the step: gets min_tokens whatever the prediction
  bool shares = false;    ///< others wait for the rest of the step: takes at most half of it
};

/// Returns how many tokens of a prompt to add to a step that holds `planned` already and may take
/// `limit_ms`; 0, or min_tokens … max_tokens.
[[nodiscard]] int chunk_size(const ChunkRequest& request, const CostModel& model,
                             const StepWork& planned, double limit_ms);

}  // namespace paceline
