#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "model/activations.h"
#include "model/forward_batch.h"
#include "model/kernels/kernels.h"
#include "model/kernels/paged_attention.h"
#include "model/kv_cache.h"
#include "model/model_config.h"
#include "model/rope_table.h"
#include "model/weights.h"

namespace paceline {

/// What a forward pass gives. Valid until the next one.
struct ForwardResult {
  const float* logits = nullptr;  ///< [batch.logits_rows, config.vocab_rows]
  double linear_seconds = 0;      ///< linear layers but the head
  double attention_seconds = 0;
  double lm_head_seconds = 0;
};

struct ModelRuntime {
  ThreadPool& team;    ///< outlives the model
  const Clock& clock;  ///< outlives the model
  Isa isa = Isa::kScalar;
};

/// Forward pass of a Qwen2/2.5 dense decoder over one ragged batch. Owned by the model runner; one
/// thread, the team's caller. With int8 weights a row's result depends on its sequence's tokens
/// only, bit for bit; with float weights the sums are OpenBLAS's and may differ with the batch.
/// Source: Qwen2 technical report, arXiv 2407.10671.
class Qwen2Model {
 public:
  /// Allocates all buffers. `max_context` bounds positions. Errors: kBadFile when the shape is
  /// beyond the kernels (head width). Throws std::bad_alloc.
  [[nodiscard]] static Result<std::unique_ptr<Qwen2Model>> create(const ModelConfig& config,
                                                                  Weights weights,
                                                                  const StepLimits& limits,
                                                                  int max_context,
                                                                  const ModelRuntime& runtime);

  /// Computes all rows of the batch, stores their K and V, and returns the logits asked for. No
  /// allocation. Requires: rows and logits rows within the limits; ids below vocab_rows; positions
  /// below max_context; the blocks of each sequence cover its rows.
  [[nodiscard]] ForwardResult forward(const ForwardBatch& batch, KvCache& cache);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  [[nodiscard]] const StepLimits& limits() const { return limits_; }
  [[nodiscard]] int max_context() const { return max_context_; }

 private:
  class PartTimer;

  Qwen2Model(const ModelConfig& config, Weights weights, const StepLimits& limits, int max_context,
             const ModelRuntime& runtime);

  void embed(const ForwardBatch& batch);
  void add_and_normalize(int num_rows, const float* delta, std::span<const float> norm);
  void rotate_and_store(const ForwardBatch& batch, const KvLayerView& cache);
  [[nodiscard]] int keep_logits_rows(const ForwardBatch& batch);
  void quantize_attention(int num_rows);
  void apply_swiglu(int num_rows);
  template <typename RowFunction>
  void for_rows(int num_rows, RowFunction function);

  ModelConfig config_;
  Weights weights_;
  StepLimits limits_;
  int max_context_;
  ThreadPool& team_;
  const Clock& clock_;
  const KernelTable& kernels_;
  const AttentionKernels& attention_kernels_;
  RopeTable rope_;
  Activations activations_;
  PagedAttention attention_;
  std::vector<AttentionSequence> kept_sequences_;  ///< of the last layer
};

}  // namespace paceline
