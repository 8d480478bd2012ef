#pragma once

#include <cstddef>

#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/quantized_matrix.h"
#include "model/quantized_rows.h"

namespace paceline {

/// Linear layer y = x · Wᵀ + bias on quantised inputs; the team's workers take pieces of the
/// outputs as they become free. The result is the same, bit for bit, for every instruction set,
/// team size and number of rows in the call. Only y[m, 0 … w.rows() - 1] is written.
/// Shapes: x: [M, K]; w: [N, K]; y: [M, ldy], ldy ≥ N.
/// Requires: x.num_columns() == w.columns(). Thread: the team's caller.
void linear_int8(ThreadPool& team, const KernelTable& kernels, const QuantizedRows& x,
                 const QuantizedMatrix& w, float* y, std::size_t ldy);

}  // namespace paceline
