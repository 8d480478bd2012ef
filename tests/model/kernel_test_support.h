#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "model/kernels/kernels.h"

namespace paceline {

/// Base of tests that run once per instruction set; skipped where the processor lacks it.
class KernelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) GTEST_SKIP() << "needs " << to_string(GetParam());
  }
  [[nodiscard]] const KernelTable& kernels() const { return kernels_for(GetParam()); }
  [[nodiscard]] static const KernelTable& reference() { return kernels_for(Isa::kScalar); }
};

inline auto all_isas() {
  return testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8);
}
inline std::string isa_name(const testing::TestParamInfo<Isa>& info) {
  return std::string(to_string(info.param));
}

/// Normal values with a few large ones among them, as in the activations of a language model.
inline std::vector<float> random_values(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random) * (random() % 61 == 0 ? 40.0F : 1.0F);
  return values;
}

/// Bit patterns, so that comparisons see signed zeros and NaN.
inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace paceline
