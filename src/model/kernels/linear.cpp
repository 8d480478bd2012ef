#include "model/kernels/linear.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace paceline {
namespace {

/// Time that a piece of work should take on one core, in microseconds: hundreds of times what
/// handing it out costs, and a small part of a layer, so that workers end together and a worker
/// whose core is taken away holds back little.
constexpr double kPieceTime = 60;
/// Memory reads of one core, bytes per microsecond; rough, for the size of pieces only.
constexpr double kBytesPerMicrosecond = 12'000;
/// Pieces per worker when there is enough work for it.
constexpr int kMinPiecesPerWorker = 3;
constexpr int kMaxPieces = 4096;

/// Returns how many groups of 16 outputs one piece has: an even number where possible, since the
/// widest kernels take two at a time.
int groups_per_piece(const KernelTable& kernels, const LinearArgs& args, int num_groups,
                     int num_threads) {
  if (num_threads == 1) return num_groups;
  const double bytes = 1024.0 * num_groups * args.num_k_tiles;
  const double macs_per_microsecond = 1000.0 * kernels.linear_gmacs;
  const double time =
      std::max(bytes / kBytesPerMicrosecond, bytes * args.num_rows / macs_per_microsecond);
  const int wanted = std::max(static_cast<int>(std::min<double>(time / kPieceTime, kMaxPieces)),
                              kMinPiecesPerWorker * num_threads);
  const int groups = std::max(1, num_groups / wanted);
  return groups == 1 ? 1 : groups / 2 * 2;
}

}  // namespace

void linear_int8(ThreadPool& team, const KernelTable& kernels, const QuantizedRows& x,
                 const QuantizedMatrix& w, float* y, std::size_t ldy) {
  CHECK(x.num_columns() == w.columns());
  CHECK(ldy >= static_cast<std::size_t>(w.rows()));
  const QuantizedMatrix::Parts& parts = w.parts();
  const LinearArgs args = {
      .activations = x.values(),
      .activation_scales = x.scales(),
      .num_rows = x.num_rows(),
      .num_k_tiles = w.num_k_tiles(),
      .weights = parts.values.data(),
      .weight_scales = parts.scales.data(),
      .weight_sums = parts.row_sums.data(),
      .bias = parts.bias.empty() ? nullptr : parts.bias.data(),
      .num_outputs = w.rows(),
      .y = y,
      .ldy = ldy,
  };
  const int num_groups = w.padded_rows() / 16;
  const int piece = groups_per_piece(kernels, args, num_groups, team.num_threads());
  team.parallel_for((num_groups + piece - 1) / piece, [&](int task, int) {
    const int first = task * piece;
    kernels.linear_int8(args, first, std::min(first + piece, num_groups));
  });
}

}  // namespace paceline
