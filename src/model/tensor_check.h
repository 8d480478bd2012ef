#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/model_config.h"
#include "model/tensor_source.h"

namespace paceline {

/// One tensor that a model needs.
struct ExpectedTensor {
  std::string name;
  TensorSource::Shape shape;
};

/// Lists every tensor of a Qwen2 model, in the order of use.
[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config);

/// Verifies that every tensor the model needs is there with the right shape. Tensors that it does
/// not need give a warning. `file` names the model in messages. Errors: kBadFile naming the tensor
/// and both shapes.
[[nodiscard]] Result<void> check_tensors(const ModelConfig& config, const TensorSource& tensors,
                                         std::string_view file, std::vector<std::string>& warnings);

}  // namespace paceline
