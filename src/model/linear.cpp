#include "model/linear.h"

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
/// Activations that stay in a core's second-level cache (1 to 2 MiB on current servers) beside the
/// weights that pass through.
constexpr int kChunkBytes = 1 << 20;
/// Results from this size on would leave the caches before they are read.
constexpr std::size_t kStreamedBytes = std::size_t{4} << 20;

/// How one layer is cut: chunks of rows, each by pieces of groups of 16 outputs.
struct Cut {
  int chunk_rows;  ///< multiple of 32, or all rows
  int num_chunks;
  int piece_groups;
  int num_pieces;  ///< per chunk
};

/// Splits rows evenly into chunks whose activations are at most kChunkBytes.
int rows_per_chunk(const LinearArgs& args) {
  const int most = std::max(kChunkBytes / (args.num_k_tiles * 64) / 32 * 32, 32);
  const int num_chunks = (args.num_rows + most - 1) / most;
  if (num_chunks == 1) return args.num_rows;
  const int even = (args.num_rows + num_chunks - 1) / num_chunks;
  return (even + 31) / 32 * 32;
}

/// Returns how many groups one piece has: an even number where possible, since the widest kernels
/// take two at a time.
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

Cut cut_layer(const KernelTable& kernels, const LinearArgs& args, int num_groups, int num_threads) {
  const int rows = rows_per_chunk(args);
  LinearArgs chunk = args;
  chunk.num_rows = rows;
  const int groups = groups_per_piece(kernels, chunk, num_groups, num_threads);
  return {rows, (args.num_rows + rows - 1) / rows, groups, (num_groups + groups - 1) / groups};
}

/// Returns the part of a layer that computes one chunk of rows; activation blocks of 16 rows start
/// anew there, as in the whole.
LinearArgs chunk_of(const LinearArgs& args, const Cut& cut, int chunk) {
  const auto first_row = static_cast<std::size_t>(chunk * cut.chunk_rows);
  LinearArgs part = args;
  part.num_rows = std::min(cut.chunk_rows, args.num_rows - chunk * cut.chunk_rows);
  part.activations += first_row * static_cast<std::size_t>(args.num_k_tiles) * 64;
  part.activation_scales += first_row;
  part.y += first_row * args.ldy;
  return part;
}

bool fits_streaming(const float* y, std::size_t ldy, int num_rows) {
  return static_cast<std::size_t>(num_rows) * ldy * sizeof(float) >= kStreamedBytes &&
         ldy % 16 == 0 && reinterpret_cast<std::uintptr_t>(y) % 64 == 0;
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
      .stream_outputs = fits_streaming(y, ldy, x.num_rows()),
  };
  const int num_groups = w.padded_rows() / 16;
  const Cut cut = cut_layer(kernels, args, num_groups, team.num_threads());
  team.parallel_for(cut.num_chunks * cut.num_pieces, [&](int task, int) {
    const int first = task % cut.num_pieces * cut.piece_groups;
    kernels.linear_int8(chunk_of(args, cut, task / cut.num_pieces), first,
                        std::min(first + cut.piece_groups, num_groups));
  });
}

}  // namespace paceline
