#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/kernels/kernels.h"
#include "model/model_config.h"
#include "model/packed_file.h"
#include "model/quantized_matrix.h"

namespace paceline {

/// In which form weights are held: packed int8, or plain float for the reference path.
enum class WeightsForm { kInt8, kF32 };

/// Weights of one linear layer as plain floats, row-major [rows, columns].
struct FloatMatrix {
  int rows = 0;
  int columns = 0;
  AlignedBuffer<float> values;
  AlignedBuffer<float> bias;  ///< [rows], or empty
};

/// Weights of one linear layer, y = x · Wᵀ + bias, in either form.
class LinearWeights {
 public:
  LinearWeights() = default;
  explicit LinearWeights(QuantizedMatrix matrix) : matrix_(std::move(matrix)) {}
  explicit LinearWeights(FloatMatrix matrix) : matrix_(std::move(matrix)) {}

  [[nodiscard]] const QuantizedMatrix* quantized() const {
    return std::get_if<QuantizedMatrix>(&matrix_);
  }
  [[nodiscard]] const FloatMatrix* floats() const { return std::get_if<FloatMatrix>(&matrix_); }
  [[nodiscard]] int rows() const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::size_t size_bytes() const;
  /// [≥ rows]; empty when there is no bias.
  [[nodiscard]] std::span<const float> bias() const;
  /// Writes one row as float: the embedding look-up. Shapes: out: [columns]. Any thread.
  void read_row(const KernelTable& kernels, int row, std::span<float> out) const;

 private:
  std::variant<QuantizedMatrix, FloatMatrix> matrix_;
};

struct LayerWeights {
  std::vector<float> attention_norm;  ///< [hidden]
  LinearWeights qkv;                  ///< [(n_heads + 2 · n_kv_heads) · head_dim, hidden], bias
  LinearWeights attention_output;     ///< [hidden, n_heads · head_dim]
  std::vector<float> ffn_norm;        ///< [hidden]
  LinearWeights gate_up;              ///< [2 · ffn, hidden]: gate's rows, then up's
  LinearWeights down;                 ///< [hidden, ffn]
};

/// All weights of a model, made by load_weights(). Owned by the model; read by any thread.
struct Weights {
  WeightsForm form = WeightsForm::kInt8;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;          ///< [hidden]
  LinearWeights head;                      ///< [vocab_rows, hidden]; also the embedding when tied
  std::optional<LinearWeights> embedding;  ///< untied models only
  std::optional<PackedFile> file;          ///< memory behind the matrices when they are mapped

  [[nodiscard]] const LinearWeights& token_embedding() const {
    return embedding ? *embedding : head;
  }
  [[nodiscard]] std::size_t size_bytes() const;
  /// Largest |K bias| of every layer, which decides how its keys are cached (kv_cache.h).
  [[nodiscard]] std::vector<float> max_key_bias(const ModelConfig& config) const;
};

}  // namespace paceline
