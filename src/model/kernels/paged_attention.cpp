#include "model/kernels/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "model/kernels/attention_exp.h"

namespace paceline {
namespace {

// Rows that share one pass over K and V. Their state (16 rows · 7 heads · 64 floats = 28 KB twice)
// stays in the second-level cache, a tile of K and V (8.5 KB) in the first.
constexpr int kRowsPerTile = 16;
constexpr int kPartitionTiles = 8;
constexpr int kPartitionSize = kPartitionTiles * kAttentionTile;
// Fewer tasks than this per thread, and long contexts are split by partition.
constexpr int kMinTasksPerThread = 4;
constexpr int kPartialsPerThread = 256;

using attention_exp::exp_nonpositive;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// Asks for a tile's memory while the one before it is computed: blocks are scattered, so that the
/// processor cannot foresee them.
void prefetch(const KvTile& tile) {
  constexpr std::size_t kLine = 64;
  for (const std::byte* group : tile.groups) {
    for (std::size_t i = 0; i < tile.layout->bytes; i += kLine) {
      __builtin_prefetch(group + i, 0, 2);
    }
  }
}

}  // namespace

/// Up to 16 consecutive rows of one sequence with one KV head.
struct PagedAttention::RowTile {
  const AttentionSequence* sequence;
  int kv_head;
  int first_row;  ///< in the step
  int num_rows;
  int start_position;  ///< of first_row
  int first_partial;   ///< place of its unmerged partitions, -1 when one task computes all of them

  [[nodiscard]] int last_position() const { return start_position + num_rows - 1; }
  [[nodiscard]] int num_partitions() const { return last_position() / kPartitionSize + 1; }
  /// First row that attends to `position`. Requires: position <= last_position().
  [[nodiscard]] int first_row_at(int position) const {
    return std::max(0, position - start_position);
  }
};

struct PagedAttention::Task {
  RowTile tile;
  int first_partition;
  int end_partition;
};

/// One row's running sums: outs [group_size, padded_dim], softmax [group_size].
struct PagedAttention::RowState {
  float* outs;
  SoftmaxState* softmax;
};

/// One worker's memory.
struct PagedAttention::Workspace {
  Workspace(int group_size, int padded_dim)
      : row_floats(static_cast<std::size_t>(group_size * padded_dim)),
        heads(static_cast<std::size_t>(group_size)),
        query_quants(kRowsPerTile * row_floats),
        query_scales(kRowsPerTile * heads),
        query_sums(kRowsPerTile * heads),
        query_values(kRowsPerTile * row_floats),
        scores(heads * kAttentionTile),
        probabilities(heads * kAttentionTile),
        probability_scales(heads),
        rescale(heads),
        outs(2 * kRowsPerTile * row_floats),
        softmax(2 * kRowsPerTile * heads) {}

  /// State of the partition being computed.
  RowState partition(int row) { return state(row); }
  /// State of the partitions merged so far.
  RowState total(int row) { return state(kRowsPerTile + row); }
  RowState state(int index) {
    const auto i = static_cast<std::size_t>(index);
    return {outs.data() + i * row_floats, softmax.data() + i * heads};
  }

  std::size_t row_floats;
  std::size_t heads;
  AlignedBuffer<std::int8_t> query_quants;
  AlignedBuffer<float> query_scales;
  AlignedBuffer<std::int32_t> query_sums;
  AlignedBuffer<float> query_values;
  AlignedBuffer<float> scores;
  AlignedBuffer<std::uint8_t> probabilities;
  AlignedBuffer<float> probability_scales;
  AlignedBuffer<float> rescale;
  AlignedBuffer<float> outs;
  AlignedBuffer<SoftmaxState> softmax;
};

struct PagedAttention::Call {
  const KvLayerView& cache;
  const float* queries;
  std::size_t query_stride;
  float* out;
};

PagedAttention::PagedAttention(const AttentionShape& shape, Isa isa)
    : shape_(shape),
      kernels_(attention_kernels(isa)),
      group_size_(shape.n_heads / shape.n_kv_heads),
      padded_dim_(KvGroupLayout(KvElement::kInt8, KvElement::kInt8, shape.head_dim).padded_dim),
      max_partials_(kPartialsPerThread * shape.num_threads) {
  DCHECK(shape.head_dim <= kMaxHeadDim && shape.n_heads % shape.n_kv_heads == 0);
  const int max_tasks = shape.max_tokens * shape.n_kv_heads + max_partials_;
  tasks_.reserve(static_cast<std::size_t>(max_tasks));
  split_tiles_.reserve(static_cast<std::size_t>(max_partials_));
  workspaces_.reserve(static_cast<std::size_t>(shape.num_threads));
  for (int i = 0; i < shape.num_threads; ++i) workspaces_.emplace_back(group_size_, padded_dim_);
  const auto partials = static_cast<std::size_t>(max_partials_);
  partial_outs_ = AlignedBuffer<float>(partials * workspaces_.front().row_floats);
  partial_softmax_.resize(partials * workspaces_.front().heads);
}

PagedAttention::~PagedAttention() = default;

void PagedAttention::plan(std::span<const AttentionSequence> sequences) {
  tasks_.clear();
  split_tiles_.clear();
  num_partials_ = 0;
  int num_row_tiles = 0;
  for (const AttentionSequence& s : sequences) num_row_tiles += ceil_div(s.num_rows, kRowsPerTile);
  const bool may_split = shape_.num_threads > 1 && num_row_tiles * shape_.n_kv_heads <
                                                       kMinTasksPerThread * shape_.num_threads;
  for (const AttentionSequence& s : sequences) {
    // Last rows first: they have the longest context, and short tasks even out the end.
    for (int t = ceil_div(s.num_rows, kRowsPerTile) - 1; t >= 0; --t) {
      const int first = t * kRowsPerTile;
      for (int kv_head = 0; kv_head < shape_.n_kv_heads; ++kv_head) {
        add_tasks({.sequence = &s,
                   .kv_head = kv_head,
                   .first_row = s.first_row + first,
                   .num_rows = std::min(kRowsPerTile, s.num_rows - first),
                   .start_position = s.start_position + first,
                   .first_partial = -1},
                  may_split);
      }
    }
  }
}

void PagedAttention::add_tasks(const RowTile& tile, bool may_split) {
  const int num_partitions = tile.num_partitions();
  const int num_partials = tile.num_rows * num_partitions;
  if (!may_split || num_partitions == 1 || num_partials_ + num_partials > max_partials_) {
    tasks_.push_back({.tile = tile, .first_partition = 0, .end_partition = num_partitions});
    return;
  }
  RowTile split = tile;
  split.first_partial = num_partials_;
  num_partials_ += num_partials;
  split_tiles_.push_back(split);
  for (int p = 0; p < num_partitions; ++p) {
    tasks_.push_back({.tile = split, .first_partition = p, .end_partition = p + 1});
  }
}

void PagedAttention::run(ThreadPool& team, const KvLayerView& cache, const float* queries,
                         std::size_t query_stride, float* out) {
  DCHECK(team.num_threads() <= shape_.num_threads);
  const Call call{.cache = cache, .queries = queries, .query_stride = query_stride, .out = out};
  team.parallel_for(static_cast<int>(tasks_.size()), [&](int i, int worker) {
    run_task(tasks_[static_cast<std::size_t>(i)], call,
             workspaces_[static_cast<std::size_t>(worker)]);
  });
  team.parallel_for(static_cast<int>(split_tiles_.size()), [&](int i, int worker) {
    merge_partials(split_tiles_[static_cast<std::size_t>(i)], call,
                   workspaces_[static_cast<std::size_t>(worker)]);
  });
}

void PagedAttention::run_task(const Task& task, const Call& call, Workspace& workspace) {
  const RowTile& tile = task.tile;
  load_queries(tile, call, workspace);
  for (int p = task.first_partition; p < task.end_partition; ++p) {
    run_partition(task, p, call, workspace);
    if (tile.first_partial >= 0) continue;
    for (int r = tile.first_row_at(p * kPartitionSize); r < tile.num_rows; ++r) {
      merge(workspace.total(r), workspace.partition(r), p);
    }
  }
  if (tile.first_partial >= 0) return;
  for (int r = 0; r < tile.num_rows; ++r) write_row(tile, call, r, workspace.total(r));
}

/// Copies, and for int8 keys quantises, the tile's query heads; 1/√head_dim is folded in.
void PagedAttention::load_queries(const RowTile& tile, const Call& call,
                                  Workspace& workspace) const {
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  const auto padded = static_cast<std::size_t>(padded_dim_);
  for (int r = 0; r < tile.num_rows; ++r) {
    for (int h = 0; h < group_size_; ++h) {
      const auto head = static_cast<std::size_t>(tile.kv_head * group_size_ + h);
      const float* q = call.queries +
                       static_cast<std::size_t>(tile.first_row + r) * call.query_stride +
                       head * dim;
      const auto index = static_cast<std::size_t>(r * group_size_ + h);
      if (call.cache.layout.key == KvElement::kInt8) {
        std::int8_t* quants = workspace.query_quants.data() + index * padded;
        workspace.query_scales[index] = kernels_.quantize_head(q, shape_.head_dim, quants) * scale;
        std::int32_t sum = 0;
        for (std::size_t d = 0; d < dim; ++d) sum += quants[d];
        workspace.query_sums[index] = sum;
      } else {
        float* values = workspace.query_values.data() + index * padded;
        for (std::size_t d = 0; d < dim; ++d) values[d] = q[d] * scale;
      }
    }
  }
}

/// Attends all rows of a tile to one partition, from an empty state.
void PagedAttention::run_partition(const Task& task, int partition, const Call& call,
                                   Workspace& workspace) {
  const RowTile& rows = task.tile;
  const auto state_of = [&](int row) {
    return rows.first_partial >= 0 ? partial(rows, row, partition) : workspace.partition(row);
  };
  for (int r = rows.first_row_at(partition * kPartitionSize); r < rows.num_rows; ++r) {
    const RowState state = state_of(r);
    std::fill_n(state.outs, workspace.row_floats, 0.0F);
    std::fill_n(state.softmax, workspace.heads,
                SoftmaxState{.max = -std::numeric_limits<float>::infinity(), .sum = 0.0F});
  }
  const int end_tile =
      std::min((partition + 1) * kPartitionTiles, rows.last_position() / kAttentionTile + 1);
  for (int t = partition * kPartitionTiles; t < end_tile; ++t) {
    const KvTile tile = kv_tile(rows, call, t);
    if (t + 1 < end_tile) prefetch(kv_tile(rows, call, t + 1));
    const int position = t * kAttentionTile;
    for (int r = rows.first_row_at(position); r < rows.num_rows; ++r) {
      const int num_valid = std::min(kAttentionTile, rows.start_position + r - position + 1);
      attend(tile, call, r, num_valid, state_of(r), workspace);
    }
  }
}

/// Finds the groups of a tile of positions through the block table.
KvTile PagedAttention::kv_tile(const RowTile& rows, const Call& call, int tile) const {
  const KvLayerView& cache = call.cache;
  KvTile result{.groups = {}, .layout = &cache.layout};
  for (int g = 0; g < kGroupsPerTile; ++g) {
    const int position = tile * kAttentionTile + g * kKvGroupSize;
    if (position > rows.last_position()) {
      result.groups[g] = result.groups[0];
      continue;
    }
    const int group = position / kKvGroupSize;
    const BlockId block =
        rows.sequence->blocks[static_cast<std::size_t>(group / cache.groups_per_block)];
    result.groups[g] =
        cache.base + index_of(block) * cache.block_stride +
        static_cast<std::size_t>(rows.kv_head) * cache.head_stride +
        static_cast<std::size_t>(group % cache.groups_per_block) * cache.layout.bytes;
  }
  return result;
}

/// Attends one row's query heads to the first num_valid positions of a tile.
void PagedAttention::attend(const KvTile& tile, const Call& call, int row, int num_valid,
                            RowState state, Workspace& workspace) const {
  const auto first_head = static_cast<std::size_t>(row * group_size_);
  const QueryHeads q{
      .num_heads = group_size_,
      .quants = workspace.query_quants.data() + first_head * static_cast<std::size_t>(padded_dim_),
      .scales = workspace.query_scales.data() + first_head,
      .sums = workspace.query_sums.data() + first_head,
      .values = workspace.query_values.data() + first_head * static_cast<std::size_t>(padded_dim_)};
  float* scores = workspace.scores.data();
  switch (call.cache.layout.key) {
    case KvElement::kInt8:
      kernels_.scores_int8(q, tile, scores);
      break;
    case KvElement::kBf16:
      kernels_.scores_bf16(q, tile, scores);
      break;
    case KvElement::kF32:
      kernels_.scores_f32(q, tile, scores);
      break;
  }
  const bool is_int8 = call.cache.layout.value == KvElement::kInt8;
  for (int h = 0; h < group_size_; ++h) {
    const auto head = static_cast<std::size_t>(h);
    float* p = scores + h * kAttentionTile;
    workspace.rescale[head] = kernels_.softmax_tile(p, num_valid, state.softmax[h]);
    if (is_int8) {
      workspace.probability_scales[head] = kernels_.quantize_probabilities(
          p, tile, workspace.probabilities.data() + h * kAttentionTile);
    }
  }
  switch (call.cache.layout.value) {
    case KvElement::kInt8:
      kernels_.values_int8(workspace.probabilities.data(), workspace.probability_scales.data(),
                           workspace.rescale.data(), group_size_, tile, state.outs);
      break;
    case KvElement::kBf16:
      kernels_.values_bf16(scores, num_valid, workspace.rescale.data(), group_size_, tile,
                           state.outs);
      break;
    case KvElement::kF32:
      kernels_.values_f32(scores, num_valid, workspace.rescale.data(), group_size_, tile,
                          state.outs);
      break;
  }
}

void PagedAttention::merge_partials(const RowTile& tile, const Call& call, Workspace& workspace) {
  for (int r = 0; r < tile.num_rows; ++r) {
    const int num_partitions = (tile.start_position + r) / kPartitionSize + 1;
    for (int p = 0; p < num_partitions; ++p) {
      merge(workspace.total(r), partial(tile, r, p), p);
    }
    write_row(tile, call, r, workspace.total(r));
  }
}

/// Adds partition number `partition` of a row to those before it.
void PagedAttention::merge(RowState total, RowState part, int partition) const {
  const int row_floats = group_size_ * padded_dim_;
  if (partition == 0) {
    std::copy_n(part.outs, row_floats, total.outs);
    std::copy_n(part.softmax, group_size_, total.softmax);
    return;
  }
  for (int h = 0; h < group_size_; ++h) {
    SoftmaxState& sum = total.softmax[h];
    const float max = std::max(sum.max, part.softmax[h].max);
    const float keep = exp_nonpositive(sum.max - max);
    const float add = exp_nonpositive(part.softmax[h].max - max);
    sum.sum = sum.sum * keep + part.softmax[h].sum * add;
    sum.max = max;
    float* outs = total.outs + h * padded_dim_;
    const float* part_outs = part.outs + h * padded_dim_;
    for (int d = 0; d < padded_dim_; ++d) outs[d] = outs[d] * keep + part_outs[d] * add;
  }
}

/// Divides by the probabilities' sums and leaves the padding out.
void PagedAttention::write_row(const RowTile& tile, const Call& call, int row,
                               RowState total) const {
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  const auto first_head =
      static_cast<std::size_t>(tile.first_row + row) * static_cast<std::size_t>(shape_.n_heads) +
      static_cast<std::size_t>(tile.kv_head * group_size_);
  float* out = call.out + first_head * dim;
  for (int h = 0; h < group_size_; ++h) {
    const float inverse = 1.0F / total.softmax[h].sum;
    for (int d = 0; d < shape_.head_dim; ++d) {
      *out++ = total.outs[h * padded_dim_ + d] * inverse;
    }
  }
}

PagedAttention::RowState PagedAttention::partial(const RowTile& tile, int row, int partition) {
  const auto i =
      static_cast<std::size_t>(tile.first_partial + row * tile.num_partitions() + partition);
  return {partial_outs_.data() + i * workspaces_.front().row_floats,
          partial_softmax_.data() + i * workspaces_.front().heads};
}

}  // namespace paceline
