#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace paceline {
namespace {

constexpr int kPositionsPerTask = 1024;

}  // namespace

RopeTable::RopeTable(const ModelConfig& config, int max_positions, ThreadPool& team)
    : half_(static_cast<std::size_t>(config.head_dim / 2)),
      values_(std::make_unique_for_overwrite<float[]>(offset(max_positions))) {
  std::vector<double> frequencies(half_);
  for (std::size_t i = 0; i < half_; ++i) {
    frequencies[i] = std::pow(static_cast<double>(config.rope_theta),
                              -static_cast<double>(i) / static_cast<double>(half_));
  }
  const int num_tasks = (max_positions + kPositionsPerTask - 1) / kPositionsPerTask;
  team.parallel_for(num_tasks, [&](int task, int) {
    const int end = std::min((task + 1) * kPositionsPerTask, max_positions);
    for (int p = task * kPositionsPerTask; p < end; ++p) {
      float* cosines = values_.get() + offset(p);
      for (std::size_t i = 0; i < half_; ++i) {
        const double angle = p * frequencies[i];
        cosines[i] = static_cast<float>(std::cos(angle));
        cosines[half_ + i] = static_cast<float>(std::sin(angle));
      }
    }
  });
}

}  // namespace paceline
