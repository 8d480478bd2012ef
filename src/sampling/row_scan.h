#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"

namespace paceline {

// Passes over one row of logits. Every reduction has one fixed order, so a row gives the same
// result whatever else is in the step and whichever thread scans it.

/// Entries per block of a scan: small enough that few blocks hold the best tokens, large enough
/// that the list of blocks stays short.
inline constexpr std::size_t kScanBlock = 256;

/// A token with a value to rank it by.
struct RankedToken {
  TokenId id{};
  float value = 0;
};

/// Whether `a` ranks before `b`: higher value first, ties by lower id.
inline bool ranks_before(const RankedToken& a, const RankedToken& b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

/// Returns the largest entry (-infinity when there is none) and fills `block_max` with the largest
/// of each kScanBlock entries. NaN entries are passed over.
float scan_maxima(std::span<const float> row, std::vector<float>& block_max);

/// Returns the lowest index whose entry equals `value`. Requires: there is one.
[[nodiscard]] std::size_t first_index_of(std::span<const float> row, float value,
                                         std::span<const float> block_max);

/// Fills `best` with the `count` best entries (all when the row is shorter), in no particular
/// order. Requires: `block_max` of this row; count >= 1.
void collect_best(std::span<const float> row, std::span<const float> block_max, std::size_t count,
                  std::vector<RankedToken>& best);

/// Fills weights[i] = exp((row[i] - max) * scale) and `block_sums` with the sum of each block;
/// returns the sum of all. Entries of -infinity and NaN weigh 0. Requires: weights.size() ==
/// row.size(); max finite; scale > 0.
double exp_weights(std::span<const float> row, float max, float scale, std::span<float> weights,
                   std::vector<double>& block_sums);

/// Returns the sum of exp(row[i] - max) without storing the terms; the same figure as
/// exp_weights().
[[nodiscard]] double exp_sum(std::span<const float> row, float max);

/// Returns exp(x) for x <= 0 with a relative error below 3e-7, and 0 at and below -87; the function
/// the passes use.
[[nodiscard]] float exp_nonpositive(float x);

}  // namespace paceline
