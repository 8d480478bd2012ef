#pragma once

#include "model/kernels/attention_kernels.h"

// Tables of the instruction sets, for attention_kernels.cpp and the files that define them.
namespace paceline {

/// Vectors without a larger magnitude are quantised to zeros: 127 / max must stay finite.
inline constexpr float kSmallestMagnitude = 1e-30F;

extern const AttentionKernels kAttentionScalar;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512Vnni;

}  // namespace paceline
