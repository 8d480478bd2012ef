#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/model_config.h"
#include "model/quantized_matrix.h"
#include "model/tensor_source.h"
#include "model/weights.h"

namespace paceline {

/// A linear layer as it is loaded: tensors of the file, stacked by rows.
struct LinearSpec {
  std::string name;  ///< `blk.0.qkv`, `head`
  int rows = 0;      ///< of all tensors together
  int columns = 0;
  bool has_bias = false;
  std::vector<std::string> tensors;  ///< without `.weight` and `.bias`
};

[[nodiscard]] LinearSpec qkv_spec(const ModelConfig& config, int layer);
[[nodiscard]] LinearSpec attention_output_spec(const ModelConfig& config, int layer);
[[nodiscard]] LinearSpec gate_up_spec(const ModelConfig& config, int layer);
[[nodiscard]] LinearSpec down_spec(const ModelConfig& config, int layer);
/// The head, which is the embedding when they are tied; the embedding of untied models.
[[nodiscard]] LinearSpec head_spec(const ModelConfig& config);
[[nodiscard]] LinearSpec embedding_spec(const ModelConfig& config);
/// All of a model, in the order of use.
[[nodiscard]] std::vector<LinearSpec> linear_specs(const ModelConfig& config);

/// Reads linear layers from a model file and brings them into a loaded form, in parallel. `on_rows`
/// is called on the calling thread after every few thousand rows with the number of weights done.
/// Errors: kBadFile as TensorSource::read_rows, or when the spec's rows and the file's differ.
/// Thread: the team's caller.
class LinearPacker {
 public:
  LinearPacker(const TensorSource& source, const KernelTable& kernels, ThreadPool& team,
               std::function<void(std::uint64_t num_weights)> on_rows);

  [[nodiscard]] Result<QuantizedMatrix> pack_int8(const LinearSpec& spec) const;
  [[nodiscard]] Result<FloatMatrix> read_f32(const LinearSpec& spec) const;

 private:
  using RowSink = FunctionRef<void(int first_row, int num_rows, std::span<const float> weights)>;
  using BiasSink = FunctionRef<void(int first_row, std::span<const float> bias)>;
  [[nodiscard]] Result<void> read(const LinearSpec& spec, RowSink weights, BiasSink bias) const;
  [[nodiscard]] Result<void> read_tensor(const std::string& tensor, int first_row, int num_rows,
                                         int columns, RowSink weights) const;

  const TensorSource& source_;
  const KernelTable& kernels_;
  ThreadPool& team_;
  std::function<void(std::uint64_t)> on_rows_;
};

}  // namespace paceline
