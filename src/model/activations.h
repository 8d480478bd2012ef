#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/model_config.h"
#include "model/quantized_rows.h"
#include "model/weights.h"

namespace paceline {

/// Largest sizes of a step; what the model's buffers are allocated for.
struct StepLimits {
  int max_tokens = 512;
  int max_logits_rows = 64;
};

/// Rows of floats, one after the other, aligned as streaming stores need it. Memory is resident
/// only where it was written, in huge pages where there are some.
class FloatRows {
 public:
  FloatRows(int max_rows, int num_columns)
      : columns_(static_cast<std::size_t>(num_columns)),
        values_(AlignedBuffer<float>::for_overwrite(static_cast<std::size_t>(max_rows) * columns_,
                                                    kHugePageBytes)) {}
  [[nodiscard]] float* row(int i) {
    return values_.data() + static_cast<std::size_t>(i) * columns_;
  }
  [[nodiscard]] float* data() { return values_.data(); }
  [[nodiscard]] std::size_t columns() const { return columns_; }

 private:
  std::size_t columns_;
  AlignedBuffer<float> values_;
};

/// Input rows of a linear layer in the form that its weights take: quantised int8, or float.
/// Workers fill different rows at the same time, each row by begin_row() and end_row().
class LinearInput {
 public:
  LinearInput(WeightsForm form, int max_rows, int max_columns, int num_threads);

  /// Sets the shape; earlier contents are void.
  void reset(int num_rows, int num_columns);
  /// Returns where `worker` writes the row's values.
  [[nodiscard]] std::span<float> begin_row(int row, int worker);
  void end_row(const KernelTable& kernels, int row, int worker);

  /// y = x · Wᵀ + bias. Shapes: y: [num_rows, weights.rows()]. Thread: the team's caller.
  void multiply(ThreadPool& team, const KernelTable& kernels, const LinearWeights& weights,
                float* y) const;

 private:
  WeightsForm form_;
  int num_rows_ = 0;
  std::size_t num_columns_ = 0;
  std::vector<AlignedBuffer<float>> scratch_;  ///< int8: one row per worker
  QuantizedRows quantized_;                    ///< int8
  std::unique_ptr<float[]> floats_;            ///< f32: [max_rows, max_columns], packed densely
};

/// Buffers of one step, allocated once. Owned by the model.
struct Activations {
  Activations(const ModelConfig& config, WeightsForm form, const StepLimits& limits,
              int num_threads);

  FloatRows hidden;     ///< residual stream, [tokens, hidden]
  FloatRows qkv;        ///< [tokens, (n_heads + 2 · n_kv_heads) · head_dim]
  FloatRows attention;  ///< [tokens, n_heads · head_dim]
  FloatRows gate_up;    ///< [tokens, 2 · ffn]
  FloatRows delta;      ///< what a block adds to the residual stream, [tokens, hidden]
  FloatRows logits;     ///< [logits rows, vocab_rows]
  LinearInput input;    ///< of the next linear layer
};

}  // namespace paceline
