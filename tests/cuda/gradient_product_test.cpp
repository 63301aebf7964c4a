// Products that multiply by the derivative of gelu's tanh form, on the GPU. Skipped, with the reason, where there is none.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tegula/runtime/registry.h"
#include "tests/support/gradient_product.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Matmul;
using test::matrix;
using test::MatrixOrder;
using test::Tensor;

class GpuGradientProduct : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_count(&why) == 0) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Floats, GpuGradientProduct, testing::Values(f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(GpuGradientProduct, IsTheProductTimesTheDerivative) {
  const DType dtype = GetParam();
  Matmul d{.a = {dtype, matrix({256, 64}, MatrixOrder::Rows)},
           .b = {dtype, matrix({64, 192}, MatrixOrder::Rows)},
           .c = {dtype, matrix({256, 192}, MatrixOrder::Rows)},
           .epilogue = runtime::gelu_tanh_gradient(dtype)};
  Tensor a(dtype, d.a.layout), b(dtype, d.b.layout), x(dtype, d.c.layout), got(dtype, d.c.layout), expected(dtype, d.c.layout);
  a.randomize(), b.randomize(), x.randomize();
  const auto call = cuda().make(d);
  ASSERT_TRUE(test::run_guarded(cuda(), *call, {&a, &b, &x, &got}, 1)) << call->describe();
  ASSERT_TRUE(test::run_guarded(cpu(), test::GradientProduct(cpu(), d), {&a, &b, &x, &expected}, 1));
  const double tolerance = dtype == f32 ? 1e-5 : dtype == f16 ? 2e-3 : 2e-2;
  for (std::int64_t i = 0; i < 256; ++i) {
    for (std::int64_t j = 0; j < 192; ++j)
      ASSERT_NEAR(got({i, j}), expected({i, j}), tolerance * (1 + std::abs(expected({i, j}))))
          << i << ", " << j << " of " << call->describe();
  }
}

TEST_P(GpuGradientProduct, SmallOnesAreNotPreferredAndNothingIsMeasured) {
  const Matmul d{.a = {GetParam(), matrix({64, 64}, MatrixOrder::Rows)},
                 .b = {GetParam(), matrix({64, 64}, MatrixOrder::Rows)},
                 .c = {GetParam(), matrix({64, 64}, MatrixOrder::Rows)},
                 .epilogue = runtime::gelu_tanh_gradient(GetParam())};
  EXPECT_FALSE(cuda().takes(d));
}

}  // namespace
}  // namespace tegula::gpu
