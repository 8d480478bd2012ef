#include "tests/support/memory_model.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "model/tensor_check.h"

namespace paceline {

ModelConfig MemoryModel::small_config() {
  ModelConfig config;
  config.n_layers = 2;
  config.hidden_size = 64;
  config.n_heads = 4;
  config.n_kv_heads = 2;
  config.head_dim = 16;
  config.ffn_size = 96;
  config.max_context = 1024;
  config.vocab_rows = 200;
  return config;
}

MemoryModel::MemoryModel(const ModelConfig& config, unsigned seed) : config_(config), seed_(seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (const ExpectedTensor& expected : expected_tensors(config)) {
    const auto size = static_cast<std::size_t>(expected.shape.rows * expected.shape.columns);
    Tensor tensor{.shape = expected.shape, .values = std::vector<float>(size)};
    const bool is_matrix = expected.shape.rows > 1;
    const bool is_norm = expected.name.find("norm") != std::string::npos;
    const bool is_query_or_key = expected.name.find("attn_q.") != std::string::npos ||
                                 expected.name.find("attn_k.") != std::string::npos;
    const float matrix_deviation =
        (is_query_or_key ? 2.0F : 1.0F) / std::sqrt(static_cast<float>(expected.shape.columns));
    for (float& value : tensor.values) {
      value = (is_norm ? 1.0F : 0.0F) + normal(random) * (is_matrix ? matrix_deviation : 0.2F);
    }
    tensors_.emplace(expected.name, std::move(tensor));
  }
}

bool MemoryModel::has(std::string_view name) const { return tensors_.contains(name); }

std::vector<std::string_view> MemoryModel::names() const {
  std::vector<std::string_view> result;
  for (const auto& [name, tensor] : tensors_) result.push_back(name);
  return result;
}

Result<TensorSource::Shape> MemoryModel::shape(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return fail(ErrorCode::kBadFile, "tensor " + std::string(name) + " is missing");
  }
  return found->second.shape;
}

Result<void> MemoryModel::read_rows(std::string_view name, std::int64_t first_row,
                                    std::int64_t num_rows, std::span<float> out) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return fail(ErrorCode::kBadFile, "tensor " + std::string(name) + " is missing");
  }
  const std::int64_t columns = found->second.shape.columns;
  std::copy_n(found->second.values.begin() + first_row * columns, num_rows * columns, out.begin());
  return {};
}

std::string MemoryModel::fingerprint() const { return "memory model " + std::to_string(seed_); }

}  // namespace paceline
