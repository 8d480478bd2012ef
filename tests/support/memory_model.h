#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_config.h"
#include "model/tensor_source.h"

namespace paceline {

/// A random Qwen2 held in memory as float32, for tests of the forward pass: weights are large
/// enough that attention is far from uniform and every layer matters. Tensors may be changed before
/// the model is loaded.
class MemoryModel final : public TensorSource {
 public:
  struct Tensor {
    Shape shape;
    std::vector<float> values;
  };

  /// Draws N(0, 1 / √columns) matrices (queries and keys twice that), N(0, 0.2) biases and
  /// 1 + N(0, 0.2) norms, the same ones for the same seed.
  MemoryModel(const ModelConfig& config, unsigned seed);

  /// Two layers, four query heads on two KV heads of 16, an FFN of 96, 200 ids, tied.
  [[nodiscard]] static ModelConfig small_config();

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] Tensor& tensor(const std::string& name) { return tensors_.at(name); }
  [[nodiscard]] const Tensor& tensor(const std::string& name) const { return tensors_.at(name); }
  void remove(const std::string& name) { tensors_.erase(name); }

  [[nodiscard]] bool has(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string_view> names() const override;
  [[nodiscard]] Result<Shape> shape(std::string_view name) const override;
  [[nodiscard]] Result<void> read_rows(std::string_view name, std::int64_t first_row,
                                       std::int64_t num_rows, std::span<float> out) const override;
  [[nodiscard]] std::string fingerprint() const override;

 private:
  ModelConfig config_;
  unsigned seed_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace paceline
