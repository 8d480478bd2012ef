#pragma once

#include <string>

#include "base/error.h"

namespace paceline {

/// Float linear layer by OpenBLAS: y = x · Wᵀ + bias. Not batch-invariant: the summation order is
/// the library's. Shapes: x: [M, K]; w: [N, K]; bias: [N] or null; y: [M, N]. Requires: M, N,
/// K > 0. Thread: one caller at a time; the library runs its own threads (set_blas_threads).
void linear_f32(const float* x, const float* w, const float* bias, float* y, int m, int n, int k);

/// Sets how many threads the library uses. Requires: num_threads ≥ 1.
void set_blas_threads(int num_threads);

/// Returns the name of the processor core that the library chose its kernels for.
[[nodiscard]] std::string blas_core_name();

/// Compares the library's product with a scalar one on several shapes; some builds compute wrong
/// results on processors that are newer than they are. Takes a few milliseconds.
/// Errors: kInternalError naming the shape, both values and the core.
[[nodiscard]] Result<void> blas_self_test();

}  // namespace paceline
