#include "sampling/row_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>

namespace paceline {
namespace {

// Independent accumulators of a pass: a multiple of every vector width, and enough of them to hide
// the latency of an addition. Their number fixes the order of the sums.
constexpr std::size_t kLanes = 32;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

float block_maximum(std::span<const float> block) {
  std::array<float, kLanes> lanes;
  lanes.fill(kLowest);
  std::size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    const float* values = block.data() + i;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[lane] > lanes[lane] ? values[lane] : lanes[lane];
    }
  }
  for (; i < block.size(); ++i) {
    if (block[i] > lanes[0]) lanes[0] = block[i];
  }
  float best = lanes[0];
  for (const float value : lanes) best = value > best ? value : best;
  return best;
}

// exp(x) = 2^n · e^r: adding and subtracting 1.5·2^23 rounds x·log2(e) to the integer n, r is what
// remains (|r| <= ln(2)/2), and e^r is its Taylor polynomial of degree 6, whose error 0.347^7 / 7!
// = 1.2e-7 is one float rounding. n·ln(2) is subtracted in two parts, the first of which is exact.
// The comparisons are written so that not-a-number weighs 0.
inline float exp_lane(float x) {
  constexpr float kMagic = 12582912.0F;
  constexpr float kLog2e = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // 10 bits: n · kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  const float clamped = x > -87.0F ? x : -87.0F;
  const float n = (clamped * kLog2e + kMagic) - kMagic;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto exponent = static_cast<std::int32_t>(n) + 127;
  const float power = std::bit_cast<float>(exponent << 23);
  return x > -87.0F ? p * power : 0.0F;
}

// Sums exp((block[i] - max) · scale) over lanes and then over lanes in order; stores the terms
// when `weights` is not null.
template <bool kStore>
double block_exp_sum(std::span<const float> block, float max, float scale, float* weights) {
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    const float* values = block.data() + i;
    std::array<float, kLanes> terms;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      terms[lane] = exp_lane((values[lane] - max) * scale);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += terms[lane];
    if constexpr (kStore) std::copy(terms.begin(), terms.end(), weights + i);
  }
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  for (; i < block.size(); ++i) {
    const float term = exp_lane((block[i] - max) * scale);
    sum += static_cast<double>(term);
    if constexpr (kStore) weights[i] = term;
  }
  return sum;
}

std::size_t num_blocks(std::size_t entries) { return (entries + kScanBlock - 1) / kScanBlock; }

std::span<const float> block_of(std::span<const float> row, std::size_t block) {
  const std::size_t begin = block * kScanBlock;
  return row.subspan(begin, std::min(kScanBlock, row.size() - begin));
}

}  // namespace

float scan_maxima(std::span<const float> row, std::vector<float>& block_max) {
  block_max.resize(num_blocks(row.size()));
  float best = kLowest;
  for (std::size_t b = 0; b < block_max.size(); ++b) {
    block_max[b] = block_maximum(block_of(row, b));
    best = std::max(best, block_max[b]);
  }
  return best;
}

std::size_t first_index_of(std::span<const float> row, float value,
                           std::span<const float> block_max) {
  const auto block = static_cast<std::size_t>(std::find(block_max.begin(), block_max.end(), value) -
                                              block_max.begin());
  const auto entries = block_of(row, block);
  const auto offset = std::find(entries.begin(), entries.end(), value) - entries.begin();
  return block * kScanBlock + static_cast<std::size_t>(offset);
}

void collect_best(std::span<const float> row, std::span<const float> block_max, std::size_t count,
                  std::vector<RankedToken>& best) {
  // The count-th largest block maximum is a lower bound of the count-th best entry.
  float bound = kLowest;
  if (count <= block_max.size()) {
    std::vector<float> maxima(block_max.begin(), block_max.end());
    const auto nth = maxima.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>());
    bound = *nth;
  }
  best.clear();
  for (std::size_t b = 0; b < block_max.size(); ++b) {
    if (block_max[b] < bound) continue;
    const auto entries = block_of(row, b);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i] >= bound) {
        best.push_back({static_cast<TokenId>(b * kScanBlock + i), entries[i]});
      }
    }
  }
  if (best.size() <= count) return;
  std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(),
                   ranks_before);
  best.resize(count);
}

double exp_weights(std::span<const float> row, float max, float scale, std::span<float> weights,
                   std::vector<double>& block_sums) {
  block_sums.resize(num_blocks(row.size()));
  double sum = 0;
  for (std::size_t b = 0; b < block_sums.size(); ++b) {
    block_sums[b] =
        block_exp_sum<true>(block_of(row, b), max, scale, weights.data() + b * kScanBlock);
    sum += block_sums[b];
  }
  return sum;
}

double exp_sum(std::span<const float> row, float max) {
  double sum = 0;
  for (std::size_t b = 0; b < num_blocks(row.size()); ++b) {
    sum += block_exp_sum<false>(block_of(row, b), max, 1.0F, nullptr);
  }
  return sum;
}

float exp_nonpositive(float x) { return exp_lane(x); }

}  // namespace paceline
