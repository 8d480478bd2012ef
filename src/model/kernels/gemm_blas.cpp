#include "model/kernels/gemm_blas.h"

#include <cblas.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace paceline {
namespace {

struct Shape {
  int m;
  int n;
  int k;
};

/// Small, odd and blocked sizes; the edges are where broken kernels differ.
constexpr Shape kTestShapes[] = {{1, 1, 1},    {1, 64, 896}, {3, 5, 7},     {16, 48, 64},
                                 {17, 33, 65}, {5, 130, 31}, {40, 128, 96}, {65, 31, 300}};

/// Fills with multiples of 1/64 in [-1, 1): products and their sums over K ≤ 896 are then exact in
/// float (14 bits of product and 10 of sum), so a right result has one value in any order.
void fill_exact(std::vector<float>& values, std::uint32_t seed) {
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(seed >> 25) - 64) / 64.0F;
  }
}

Result<void> test_shape(const Shape& s) {
  std::vector<float> x(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k));
  std::vector<float> w(static_cast<std::size_t>(s.n) * static_cast<std::size_t>(s.k));
  std::vector<float> y(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n), -1.0F);
  fill_exact(x, 1);
  fill_exact(w, 2);
  linear_f32(x.data(), w.data(), nullptr, y.data(), s.m, s.n, s.k);
  for (int i = 0; i < s.m; ++i) {
    for (int j = 0; j < s.n; ++j) {
      const float* a = x.data() + static_cast<std::ptrdiff_t>(i) * s.k;
      const float* b = w.data() + static_cast<std::ptrdiff_t>(j) * s.k;
      float expected = 0;
      for (int p = 0; p < s.k; ++p) expected += a[p] * b[p];
      const float actual = y[static_cast<std::size_t>(i * s.n + j)];
      if (actual == expected) continue;
      return fail(ErrorCode::kInternalError,
                  "OpenBLAS (core " + blas_core_name() + ") computes a wrong product: shape " +
                      std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                      " gives " + std::to_string(actual) + " instead of " +
                      std::to_string(expected));
    }
  }
  return {};
}

}  // namespace

void linear_f32(const float* x, const float* w, const float* bias, float* y, int m, int n, int k) {
  CHECK(m > 0 && n > 0 && k > 0);
  const auto columns = static_cast<std::size_t>(n);
  if (bias != nullptr) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
      for (std::size_t i = 0; i < columns; ++i) y[row * columns + i] = bias[i];
    }
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0F, x, k, w, k,
              bias != nullptr ? 1.0F : 0.0F, y, n);
}

void set_blas_threads(int num_threads) {
  CHECK(num_threads >= 1);
  openblas_set_num_threads(num_threads);
}

std::string blas_core_name() { return openblas_get_corename(); }

Result<void> blas_self_test() {
  for (const Shape& shape : kTestShapes) {
    if (auto result = test_shape(shape); !result) return result;
  }
  return {};
}

}  // namespace paceline
