#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// exp(x) for x ≤ 0 as all attention kernels compute it, operation by operation:
//
//   t = fma(x, log2 e, 1.5 · 2^23)        rounds x · log2 e to an integer n in t's low bits
//   r = fma(-n, ln 2 low, fma(-n, ln 2 high, x))          |r| ≤ ln 2 / 2
//   p = Taylor polynomial of degree 6 in r, by fma from the highest term;
//       error ≤ (ln 2 / 2)^7 / 7! = 1.2e-7, relative
//   result = p · 2^n; 0 below kExpMin: a share of 2^-92 is far below every sum's
//   rounding, and smaller ones would make products subnormal, which is slow
namespace paceline::attention_exp {

inline constexpr float kExpMin = -64.0F;
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kRound = 12582912.0F;       // 1.5 · 2^23: its unit in the last place is 1
inline constexpr float kLn2High = 0.693359375F;    // 9 bits: n · kLn2High is exact
inline constexpr float kLn2Low = -2.12194440e-4F;  // ln 2 - kLn2High
inline constexpr float kCoefficients[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6,
                                          0.5F,       1.0F,       1.0F};
inline constexpr int kExponentBias = 127;
inline constexpr int kMantissaBits = 23;

/// The scalar form; not for files that are compiled for one instruction set.
inline float exp_nonpositive(float x) {
  if (!(x >= kExpMin)) return 0.0F;
  const float t = std::fma(x, kLog2E, kRound);
  const float n = t - kRound;
  const float r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  float p = kCoefficients[0];
  for (int i = 1; i < 7; ++i) p = std::fma(p, r, kCoefficients[i]);
  const std::uint32_t exponent =
      std::bit_cast<std::uint32_t>(t) - std::bit_cast<std::uint32_t>(kRound) + kExponentBias;
  return p * std::bit_cast<float>(exponent << kMantissaBits);
}

}  // namespace paceline::attention_exp
