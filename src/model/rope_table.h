#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "model/model_config.h"

namespace paceline {

/// Cosines and sines of the rotary embedding, computed in double precision: the angle of position p
/// and pair i is p · theta^(-2i / head_dim). Owned by the model, immutable, any thread.
class RopeTable {
 public:
  /// Positions 0 … max_positions - 1. Thread: the team's caller.
  RopeTable(const ModelConfig& config, int max_positions, ThreadPool& team);

  /// Shapes: [head_dim / 2]. Requires: 0 ≤ position < max_positions.
  [[nodiscard]] const float* cos(int position) const { return values_.get() + offset(position); }
  [[nodiscard]] const float* sin(int position) const { return cos(position) + half_; }

 private:
  [[nodiscard]] std::size_t offset(int position) const {
    return 2 * static_cast<std::size_t>(position) * half_;
  }

  std::size_t half_;
  std::unique_ptr<float[]> values_;  ///< [max_positions][cos, sin][half]
};

}  // namespace paceline
