#pragma once

#include <cstddef>
#include <span>

#include "model/tensor_type.h"

namespace paceline {

/// Converts stored blocks to float32, bit for bit like the gguf Python package. Requires:
/// out.size() is a multiple of the type's block_values; blocks holds exactly the bytes of those
/// values. Any thread.
void dequantize(TensorType type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace paceline
