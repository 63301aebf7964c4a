// Systems of linear equations: values, gradients, batches, dtypes, and refused inputs.

#include "tegula/ops/linalg/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

double residual(const Tensor& a, const Tensor& x, const Tensor& b) {
  return x.numel() == 0 ? 0 : max(abs(matmul(cast(a, f64), cast(x, f64)) - cast(b, f64))).item<double>();
}

TEST(Solve, GivesBackWhatIsMultipliedInEveryDtypeSizeAndLayout) {
  for (const DType dtype : {f64, f32, f16, bf16}) {
    const double digits = dtype == f64 ? 1e-11 : dtype == f32 ? 2e-3 : dtype == f16 ? 3e-2 : 3e-1;
    for (const std::int64_t n : {1, 2, 5, 33}) {
      const Tensor a = cast(normal({n, n}) + 3.0 * eye(n), dtype), b = cast(normal({n, 3}), dtype);
      const Tensor x = solve(a, b);
      EXPECT_EQ(x.dtype(), dtype);
      EXPECT_LT(residual(a, x, b), digits * static_cast<double>(n)) << name(dtype) << " " << n;
      EXPECT_LT(residual(transpose(a), solve(transpose(a), b), b), digits * static_cast<double>(n)) << name(dtype) << " " << n;
    }
  }
  EXPECT_EQ(solve(zeros({0, 0}), zeros({0, 4})).shape(), (Shape{0, 4}));
  EXPECT_EQ(solve(zeros({2, 3, 3}) + eye(3), zeros({2, 3, 0})).shape(), (Shape{2, 3, 0}));
}

TEST(Solve, PivotsWhereTheDiagonalIsZero) {
  const Tensor a = tensor({0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1e-20, 4.0}, {3, 3});
  EXPECT_EQ(solve(a, tensor({2.0, 3.0, 8.0})).to_host<double>(), (std::vector<double>{3, 1, 2}));
}

TEST(Solve, TakesBatchesAndVectorsAndIsTheSameUnderJit) {
  const Tensor a = normal({4, 6, 6}, 0, 1, {.dtype = f64}) + 3.0 * eye(6, std::nullopt, f64), b = normal({4, 6}, 0, 1, {.dtype = f64});
  const Tensor x = solve(a, b);
  EXPECT_EQ(x.shape(), (Shape{4, 6}));
  EXPECT_LT(residual(a, unsqueeze(x, -1), unsqueeze(b, -1)), 1e-12);
  auto f = jit([](const Tensor& p, const Tensor& q) { return solve(p, q); });
  for (int call = 0; call < 2; ++call) EXPECT_EQ(f(a, b).to_host<double>(), x.to_host<double>());
  EXPECT_LT(residual(a, inverse(a), expand(eye(6, std::nullopt, f64), {4, 6, 6})), 1e-12);
}

TEST(Solve, HasTheGradientOfTheSolution) {
  const Tensor a = normal({2, 3, 3}, 0, 1, {.dtype = f64}) + 3.0 * eye(3, std::nullopt, f64);
  const Tensor factor = normal({2, 3, 2}, 0, 1, {.dtype = f64});
  const auto loss = [&](const std::vector<Tensor>& in) { return sum(sin(solve(in[0], in[1])) * factor); };
  check_gradients(loss, {a, normal({2, 3, 2}, 0, 1, {.dtype = f64})});
  check_gradients([](const std::vector<Tensor>& in) { return sum(square(inverse(in[0]))); }, {a});
}

TEST(Solve, RefusesWhatHasNoSolution) {
  EXPECT_HAS_MESSAGE(solve(tensor({1.f, 2.f, 2.f, 4.f}, {2, 2}), ones({2})).to_host(), "solve: got a singular matrix");
  EXPECT_HAS_MESSAGE(solve(ones({2, 3}), ones({2})), "got shapes (2, 3) and (2,)");
  EXPECT_HAS_MESSAGE(solve(ones({3, 3}), ones({2, 3})), "got shapes (3, 3) and (2, 3)");
  EXPECT_HAS_MESSAGE(solve(ones({2, 2}, i64), ones({2})), "expected float dtypes");
  EXPECT_HAS_MESSAGE(inverse(ones({2, 3})), "inverse: got shape (2, 3)");
}

}  // namespace
}  // namespace tegula
