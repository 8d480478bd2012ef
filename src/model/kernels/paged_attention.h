#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "model/kernels/attention_kernels.h"
#include "model/kernels/kv_group_layout.h"

namespace paceline {

struct AttentionShape {
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;     ///< ≤ kMaxHeadDim
  int max_tokens = 0;   ///< rows of one step
  int num_threads = 0;  ///< of the team that runs it
};

/// Rows of one sequence in a step: row i is position start_position + i, and its K and V are
/// stored already.
struct AttentionSequence {
  int first_row = 0;
  int num_rows = 0;
  int start_position = 0;
  std::span<const BlockId> blocks;  ///< cover start_position + num_rows
};

/// Causal attention of a step's rows over the stored K and V of their sequences, grouped: a tile of
/// K and V is read once for up to 16 rows and all query heads of its KV head. Owned by the model.
/// Thread: the team's caller.
///
/// A row's result depends on its sequence's tokens only. Positions are taken in tiles of 64 from
/// position 0, by online softmax; every 512 positions form a partition that is summed by itself,
/// and partitions are merged in rising order. So neither chunks, nor other sequences, nor the
/// team's size change a bit; which task computes which partition is free.
class PagedAttention {
 public:
  PagedAttention(const AttentionShape& shape, Isa isa);
  ~PagedAttention();
  PagedAttention(const PagedAttention&) = delete;
  PagedAttention& operator=(const PagedAttention&) = delete;

  /// Sets the rows that the following run() calls (one per layer) compute; `sequences` and their
  /// blocks must stay until the last of them. No allocation. Requires: at most max_tokens rows.
  void plan(std::span<const AttentionSequence> sequences);

  /// Shapes: queries: [rows, n_heads, head_dim], rows query_stride floats apart, rotated (RoPE)
  /// but not scaled; out: [rows, n_heads · head_dim].
  void run(ThreadPool& team, const KvLayerView& cache, const float* queries,
           std::size_t query_stride, float* out);

 private:
  struct RowTile;
  struct Task;
  struct Workspace;
  struct RowState;
  struct Call;

  void add_tasks(const RowTile& tile, bool may_split);
  void run_task(const Task& task, const Call& call, Workspace& workspace);
  void load_queries(const RowTile& tile, const Call& call, Workspace& workspace) const;
  void run_partition(const Task& task, int partition, const Call& call, Workspace& workspace);
  void attend(const KvTile& tile, const Call& call, int row, int num_valid, RowState state,
              Workspace& workspace) const;
  void merge_partials(const RowTile& tile, const Call& call, Workspace& workspace);
  void merge(RowState total, RowState part, int partition) const;
  void write_row(const RowTile& tile, const Call& call, int row, RowState total) const;
  [[nodiscard]] KvTile kv_tile(const RowTile& rows, const Call& call, int tile) const;
  [[nodiscard]] RowState partial(const RowTile& tile, int row, int partition);

  AttentionShape shape_;
  const AttentionKernels& kernels_;
  int group_size_;  ///< query heads per KV head
  int padded_dim_;
  std::vector<Task> tasks_;
  std::vector<RowTile> split_tiles_;   ///< row tiles whose partitions are tasks of their own
  std::vector<Workspace> workspaces_;  ///< one per worker
  // Unmerged partitions of split_tiles_: outs [partials][group_size, padded_dim].
  AlignedBuffer<float> partial_outs_;
  std::vector<SoftmaxState> partial_softmax_;
  int max_partials_ = 0;
  int num_partials_ = 0;
};

}  // namespace paceline
