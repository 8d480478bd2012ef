#include "sampling/random_stream.h"

#include <random>

namespace paceline {
namespace {

// 2^64 divided by the golden ratio, odd: consecutive counters land far apart before mixing.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;

// Finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014; constants of variant 13).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(std::int64_t seed, int choice_index)
    : key_(mix(mix(static_cast<std::uint64_t>(seed) + kGolden) +
               kGolden * (static_cast<std::uint64_t>(choice_index) + 1))) {}

double RandomStream::uniform(std::uint64_t position) const {
  const std::uint64_t bits = mix(key_ + kGolden * (position + 1));
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

std::int64_t random_seed() {
  std::random_device device;
  const std::uint64_t high = device();
  return static_cast<std::int64_t>((high << 32) | device());
}

}  // namespace paceline
