#pragma once

#include <cstddef>

#include "model/kernels/attention_kernels.h"
#include "model/kernels/kv_group_layout.h"

namespace paceline {

/// Stores one position's K and V of one head in its group: int8 with a scale of its own (largest
/// magnitude / 127), bf16 (round to nearest even) or f32, as the layout says. The bytes depend on
/// the values only. Shapes: key, value: [head_dim]. Requires: 0 ≤ slot < kKvGroupSize, head_dim ≤
/// kMaxHeadDim. Any thread, different slots at the same time.
void store_key_value(const AttentionKernels& kernels, const KvGroupLayout& layout, std::byte* group,
                     int slot, const float* key, const float* value);

}  // namespace paceline
