#include "scheduler/cost_model.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

/// Tokens and attended positions that cost about as much as the base, so that the terms have
/// similar sizes and the fit is well conditioned.
constexpr double kTokenScale = 64;
constexpr double kAttendedScale = 65536;

/// Start values: 5 ms of base, 0.25 ms a token, 0.1 µs per attended position: two cores, 0.5 G
/// weights. Bounds: from a fast machine's toy model to scalar code with a large one.
constexpr std::array<double, 3> kInitial = {5, 0.25 * kTokenScale, 1e-4 * kAttendedScale};
constexpr std::array<double, 3> kLowest = {0, 1e-4 * kTokenScale, 0};
constexpr std::array<double, 3> kHighest = {1000, 1000 * kTokenScale, 1 * kAttendedScale};

/// Weight of the past: a step of 50 steps ago counts e⁻¹.
constexpr double kForgetting = 0.98;
/// Initial uncertainty, and the bound to which forgetting may raise it while steps teach nothing.
constexpr double kVariance = 10;

/// Start of the usual deviation, ms: everything is believed at first. Weight of each new one.
constexpr double kInitialDeviation = 1000;
constexpr double kDeviationGain = 0.1;

std::array<double, 3> terms_of(const StepWork& work) {
  return {1, work.num_tokens / kTokenScale, work.num_attended / kAttendedScale};
}

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

}  // namespace

CostModel::CostModel() : coefficients_(kInitial), covariance_{}, deviation_ms_(kInitialDeviation) {
  for (std::size_t i = 0; i < kNumTerms; ++i) covariance_[i][i] = kVariance;
}

double CostModel::predict_ms(const StepWork& work) const {
  Vector bounded;
  for (std::size_t i = 0; i < kNumTerms; ++i) {
    bounded[i] = std::clamp(coefficients_[i], kLowest[i], kHighest[i]);
  }
  return dot(bounded, terms_of(work));
}

void CostModel::observe(const StepWork& work, double measured_ms) {
  const Vector terms = terms_of(work);
  const double predicted = dot(coefficients_, terms);
  const double cut_ms = std::max(3 * deviation_ms_, predicted / 2);
  const double error = std::clamp(measured_ms - predicted, -cut_ms, cut_ms);
  const double seen_ms = std::min(std::abs(measured_ms - predicted), 10 * cut_ms);
  deviation_ms_ += kDeviationGain * (seen_ms - deviation_ms_);

  Vector direction;
  for (std::size_t i = 0; i < kNumTerms; ++i) direction[i] = dot(covariance_[i], terms);
  const double scale = kForgetting + dot(terms, direction);
  for (std::size_t i = 0; i < kNumTerms; ++i) {
    coefficients_[i] += direction[i] / scale * error;
  }

  double trace = 0;
  for (std::size_t i = 0; i < kNumTerms; ++i) {
    for (std::size_t j = 0; j < kNumTerms; ++j) {
      covariance_[i][j] -= direction[i] * direction[j] / scale;
    }
    trace += covariance_[i][i];
  }
  if (trace / kForgetting > kVariance * kNumTerms) return;
  for (Vector& row : covariance_) {
    for (double& value : row) value /= kForgetting;
  }
}

}  // namespace paceline
