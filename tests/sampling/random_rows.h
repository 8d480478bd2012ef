#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace paceline {

/// Returns a row of normally distributed logits, the same for the same seed.
inline std::vector<float> random_row(std::size_t size, std::uint32_t seed, float spread = 3) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> distribution(0, spread);
  std::vector<float> row(size);
  for (float& value : row) value = distribution(engine);
  return row;
}

}  // namespace paceline
