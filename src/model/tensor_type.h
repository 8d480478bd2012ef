#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

/// How the values of a stored tensor are encoded; the numbers are GGUF's. The integer formats store
/// blocks of values along a row. Source: the GGUF specification and ggml's block definitions.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ4_XS = 23,
  kBF16 = 30,
};

struct TensorTypeInfo {
  TensorType type;
  std::string_view name;  ///< `Q4_K`
  int block_values;       ///< values of one block; a row holds whole blocks
  int block_bytes;
};

/// Describes a type. Requires: one of the enumerators.
[[nodiscard]] const TensorTypeInfo& tensor_type_info(TensorType type);
/// Returns the type of a GGUF type number; nothing when it is not supported.
[[nodiscard]] std::optional<TensorType> tensor_type_from_gguf(std::uint32_t number);
/// Names of all supported types, for messages: `F32, F16, …`.
[[nodiscard]] std::string supported_tensor_types();

}  // namespace paceline
