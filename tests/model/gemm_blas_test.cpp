#include "model/kernels/gemm_blas.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

TEST(GemmBlasTest, LinearIsTheProductWithTheTransposedWeightsPlusBias) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};                     // 2 x 3
  const std::vector<float> w = {1, 0, 0, 0, 1, 0, 1, 1, 1, 2, 0, -1};  // 4 x 3
  const std::vector<float> bias = {10, 20, 30, 40};
  std::vector<float> y(8, -1.0F);

  linear_f32(x.data(), w.data(), bias.data(), y.data(), 2, 4, 3);

  EXPECT_EQ(y, (std::vector<float>{11, 22, 36, 39, 14, 25, 45, 42}));
}

TEST(GemmBlasTest, WithoutBiasEarlierContentsDoNotMatter) {
  const std::vector<float> x = {1, 2};
  const std::vector<float> w = {3, 4};
  std::vector<float> y = {__builtin_nanf("")};

  linear_f32(x.data(), w.data(), nullptr, y.data(), 1, 1, 2);

  EXPECT_EQ(y[0], 11.0F);
}

TEST(GemmBlasTest, SelfTestPassesWithAnyNumberOfThreads) {
  for (const int num_threads : {1, 2}) {
    set_blas_threads(num_threads);

    const auto result = blas_self_test();

    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
}

TEST(GemmBlasTest, CoreHasAName) { EXPECT_FALSE(blas_core_name().empty()); }

}  // namespace
}  // namespace paceline
