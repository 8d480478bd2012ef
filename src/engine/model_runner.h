#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "scheduler/step_plan.h"

namespace paceline {

/// Rows of logits of one step, in plan order; valid until the next run().
struct StepLogits {
  const float* values = nullptr;  ///< [num_rows, stride]
  std::size_t stride = 0;  ///< floats per row, ≥ vocab_size (padding rows of the model included)
  int num_rows = 0;
  /// Seconds spent by part, for paceline_step_part_seconds_total.
  double linear_seconds = 0;
  double attention_seconds = 0;
  double lm_head_seconds = 0;

  [[nodiscard]] std::span<const float> row(int i, std::size_t vocab_size) const {
    return {values + static_cast<std::size_t>(i) * stride, vocab_size};
  }
};

/// Computes steps. The one seam between engine and model; tests put a scripted one here. Engine
/// thread.
class ModelRunner {
 public:
  virtual ~ModelRunner() = default;
  /// Copies blocks, computes all tokens of the plan and their K/V, returns the logits asked for.
  /// Errors: kEngineError; the step's sequences fail, the runner stays usable.
  [[nodiscard]] virtual Result<StepLogits> run(const StepPlan& plan) = 0;
};

}  // namespace paceline
