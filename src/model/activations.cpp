#include "model/activations.h"

#include <algorithm>

#include "base/check.h"
#include "model/kernels/gemm_blas.h"
#include "model/linear.h"

namespace paceline {

LinearInput::LinearInput(WeightsForm form, int max_rows, int max_columns, int num_threads)
    : form_(form) {
  const auto columns = static_cast<std::size_t>(max_columns);
  if (form == WeightsForm::kInt8) {
    for (int worker = 0; worker < num_threads; ++worker) scratch_.emplace_back(columns);
    quantized_ = QuantizedRows(max_rows, max_columns);
  } else {
    floats_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(max_rows) * columns);
  }
}

void LinearInput::reset(int num_rows, int num_columns) {
  num_rows_ = num_rows;
  num_columns_ = static_cast<std::size_t>(num_columns);
  if (form_ == WeightsForm::kInt8) quantized_.reset(num_rows, num_columns);
}

std::span<float> LinearInput::begin_row(int row, int worker) {
  if (form_ == WeightsForm::kInt8) {
    return scratch_[static_cast<std::size_t>(worker)].span().first(num_columns_);
  }
  return {floats_.get() + static_cast<std::size_t>(row) * num_columns_, num_columns_};
}

void LinearInput::end_row(const KernelTable& kernels, int row, int worker) {
  if (form_ == WeightsForm::kF32) return;
  quantized_.quantize_row(kernels, row, scratch_[static_cast<std::size_t>(worker)].data());
}

void LinearInput::multiply(ThreadPool& team, const KernelTable& kernels,
                           const LinearWeights& weights, float* y) const {
  if (const QuantizedMatrix* matrix = weights.quantized(); matrix != nullptr) {
    linear_int8(team, kernels, quantized_, *matrix, y, static_cast<std::size_t>(matrix->rows()));
    return;
  }
  const FloatMatrix& matrix = *weights.floats();
  DCHECK(static_cast<std::size_t>(matrix.columns) == num_columns_);
  const float* bias = matrix.bias.size() == 0 ? nullptr : matrix.bias.data();
  linear_f32(floats_.get(), matrix.values.data(), bias, y, num_rows_, matrix.rows, matrix.columns);
}

Activations::Activations(const ModelConfig& config, WeightsForm form, const StepLimits& limits,
                         int num_threads)
    : hidden(limits.max_tokens, config.hidden_size),
      qkv(limits.max_tokens, (config.n_heads + 2 * config.n_kv_heads) * config.head_dim),
      attention(limits.max_tokens, config.n_heads * config.head_dim),
      gate_up(limits.max_tokens, 2 * config.ffn_size),
      delta(limits.max_tokens, config.hidden_size),
      logits(limits.max_logits_rows, config.vocab_rows),
      input(form, std::max(limits.max_tokens, limits.max_logits_rows),
            std::max({config.hidden_size, config.n_heads * config.head_dim, config.ffn_size}),
            num_threads) {}

}  // namespace paceline
