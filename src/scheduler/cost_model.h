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
/// fitted on line by recursive least squares with forgetting. Predictions use every coefficient
/// within bounds that any machine and model meet, so more work is never predicted to be faster; the
/// fit itself is left unbounded, since cutting it would make it wrong for long. Owned by the
/// Scheduler; engine thread.
class CostModel {
 public:
  CostModel();

  [[nodiscard]] double predict_ms(const StepWork& work) const;
  /// Learns from one measured step. What is off by more than three times the usual deviation, and
  /// by more than half, is cut to that, so that one stall does not turn the model; a lasting change
  /// raises the usual deviation and is learnt.
  void observe(const StepWork& work, double measured_ms);

 private:
  static constexpr std::size_t kNumTerms = 3;
  using Vector = std::array<double, kNumTerms>;

  Vector coefficients_;                       ///< ms per scaled term
  std::array<Vector, kNumTerms> covariance_;  ///< of the coefficients, in units of the noise
  double deviation_ms_;                       ///< recent mean of |measured - predicted|
};

}  // namespace paceline
