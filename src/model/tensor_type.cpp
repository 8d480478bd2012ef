#include "model/tensor_type.h"

#include <array>

#include "base/check.h"

namespace paceline {
namespace {

constexpr std::array kTensorTypes = {
    TensorTypeInfo{TensorType::kF32, "F32", 1, 4},
    TensorTypeInfo{TensorType::kF16, "F16", 1, 2},
    TensorTypeInfo{TensorType::kBF16, "BF16", 1, 2},
    TensorTypeInfo{TensorType::kQ8_0, "Q8_0", 32, 34},
    TensorTypeInfo{TensorType::kQ4_0, "Q4_0", 32, 18},
    TensorTypeInfo{TensorType::kQ4_1, "Q4_1", 32, 20},
    TensorTypeInfo{TensorType::kQ5_0, "Q5_0", 32, 22},
    TensorTypeInfo{TensorType::kQ5_1, "Q5_1", 32, 24},
    TensorTypeInfo{TensorType::kQ2_K, "Q2_K", 256, 84},
    TensorTypeInfo{TensorType::kQ3_K, "Q3_K", 256, 110},
    TensorTypeInfo{TensorType::kQ4_K, "Q4_K", 256, 144},
    TensorTypeInfo{TensorType::kQ5_K, "Q5_K", 256, 176},
    TensorTypeInfo{TensorType::kQ6_K, "Q6_K", 256, 210},
    TensorTypeInfo{TensorType::kIQ4_NL, "IQ4_NL", 32, 18},
    TensorTypeInfo{TensorType::kIQ4_XS, "IQ4_XS", 256, 136},
    TensorTypeInfo{TensorType::kIQ3_S, "IQ3_S", 256, 110},
};

}  // namespace

const TensorTypeInfo& tensor_type_info(TensorType type) {
  for (const TensorTypeInfo& info : kTensorTypes) {
    if (info.type == type) return info;
  }
  CHECK(false && "not a TensorType");
  return kTensorTypes.front();
}

std::optional<TensorType> tensor_type_from_gguf(std::uint32_t number) {
  for (const TensorTypeInfo& info : kTensorTypes) {
    if (static_cast<std::uint32_t>(info.type) == number) return info.type;
  }
  return std::nullopt;
}

std::string supported_tensor_types() {
  std::string names;
  for (const TensorTypeInfo& info : kTensorTypes) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

}  // namespace paceline
