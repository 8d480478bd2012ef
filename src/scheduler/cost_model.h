#pragma once

#include <array>
#include <cstddef>

namespace paceline {

/// What decides how long a step takes.
struct StepWork {
  int num_tokens = 0;
  /// Positions attended to, summed over the tokens.
  double num_attended = 0;

  /// Adds tokens [start, start + count) of one sequence; each attends to itself and all before.
  void add(int start, int count) {
    num_tokens += count;
    num_attended += static_cast<double>(count) * start + 0.5 * count * (count + 1.0);
  }
};

/// Predicts the duration of a step: ms = base + per_token · tokens + per_attended · attended,
/// fitted on line by recursive least squares with forgetting, every coefficient kept within bounds
/// that any machine and model meet. Owned by the Scheduler; engine thread.
class CostModel {
 public:
  CostModel();

  [[nodiscard]] double predict_ms(const StepWork& work) const;
  /// Learns from one measured step. A measurement counts as at most four times, and at least a
  /// quarter of, what was predicted, so that one stall does not turn the model.
  void observe(const StepWork& work, double measured_ms);

 private:
  static constexpr std::size_t kNumTerms = 3;
  using Vector = std::array<double, kNumTerms>;

  Vector coefficients_;                       ///< ms per scaled term
  std::array<Vector, kNumTerms> covariance_;  ///< of the coefficients, in units of the noise
};

}  // namespace paceline
