// Parameters of kernels that bring their shape and strides; blocks of tensors; Variables updated in place.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"
#include "tests/support/occurrences.h"
#include "tests/support/tile_parameter_kernels.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;
using tile::cdiv, tile::descriptor, tile::out;

Tensor copy_of(const Tensor& x) {
  return kernels::copied({cdiv(x.size(0), 16), cdiv(x.size(1), 16)}, x, out({x.size(0), x.size(1)}), 16)[0];
}

TEST(TileParameters, AViewIsReadWhereItLies) {
  const Tensor x = normal({70, 45});
  eval(x);
  EXPECT_EQ(copy_of(x).to_host(), x.to_host());
  EXPECT_EQ(copy_of(transpose(x)).to_host(), transpose(x).to_host());
  const Tensor piece = slice(x, 0, {3, 60, 2}), wide = broadcast_to(reshape(slice(x, 0, {0, 1}), {45}), {20, 45});
  EXPECT_EQ(copy_of(piece).to_host(), piece.to_host());
  EXPECT_EQ(copy_of(slice(transpose(x), 0, {5, 40})).to_host(), slice(transpose(x), 0, {5, 40}).to_host());
  EXPECT_EQ(copy_of(wide).to_host(), wide.to_host());
}

TEST(TileParameters, NoCopyOfAViewIsPlanned) {
  const Tensor x = normal({70, 45});
  auto f = jit([](const Tensor& in) { return copy_of(transpose(in)); });
  f(x);
  EXPECT_EQ(test::occurrences(f.print_plan(), "copy"), 0u) << f.print_plan();
}

TEST(TileParameters, ImmediateModeSeesTheSame) {
  const Tensor x = normal({20, 15});
  EXPECT_EQ(kernels::copied.check()({1, 2}, transpose(x), out({15, 20}), 16)[0].to_host(), transpose(x).to_host());
}

TEST(TileParameters, BlocksAreLoadedAndStoredWhereTheTensorIs) {
  const std::int64_t M = 50, N = 37, K = 45;
  const Tensor a = normal({M, K}), b = normal({N, K});
  for (const bool check : {false, true}) {
    const auto kernel = check ? kernels::matmul_blocks.check() : kernels::matmul_blocks;
    const Tensor c = kernel({cdiv(M, 16), cdiv(N, 16)}, descriptor(a, {16, 8}), descriptor(transpose(b), {8, 16}),
                            descriptor(out({M, N}), {16, 16}), K)[0];
    expect_close(c, matmul(a, transpose(b)), 1e-5);
  }
}

TEST(TileParameters, RowsAreGatheredAndScatteredByTheirNumbers) {
  const Tensor x = reshape(arange(5 * 5), {5, 5});
  const Tensor rows = tensor<std::int64_t>({3, 0, 7, 4});  // 7 lies outside
  const auto r = kernels::gathered({1}, cast(x, f32), rows, out({4, 4}), out({8, 4}, 9), 4);
  const std::vector<float> y = r[0].to_host(), z = r[1].to_host();
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 3), (std::vector<float>{17, 18, 19}));
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(y[8]));
  EXPECT_EQ(std::vector<float>(z.begin() + 12, z.begin() + 20), (std::vector<float>{17, 18, 19, 0, 22, 23, 24, 0}));
  EXPECT_EQ(z[4], 9);
}

TEST(TileParameters, BlockPointersMoveAlong) {
  const std::int64_t M = 33, N = 20, K = 41;
  const Tensor a = normal({M, K}), b = normal({K, N});
  for (const bool check : {false, true}) {
    const auto kernel = check ? kernels::block_pointers.check() : kernels::block_pointers;
    expect_close(kernel({cdiv(M, 16), cdiv(N, 16)}, a, b, out({M, N}), M, N, K, 16)[0], matmul(a, b), 1e-5);
  }
}

TEST(TileParameters, RanksAreThoseThatTheParameterSays) {
  const Tensor x = normal({4, 4});
  EXPECT_HAS_MESSAGE(kernels::copied({1, 1}, normal({4}), out({4, 4}), 16), "expected rank 2, as parameter 1 says");
  EXPECT_HAS_MESSAGE(kernels::matmul_blocks({1, 1}, descriptor(x, {16}), descriptor(x, {16, 16}), descriptor(out({4, 4}), {16, 16}), 4),
                     "expected rank 2, as parameter 1 says");
}

TEST(TileParameters, AVariableIsUpdatedWhereItLies) {
  Variable w(zeros({1000}));
  auto step = jit([&](const Tensor& x) {
    kernels::grown({cdiv(1000, 256)}, w, x, 1000, 256);
    return sum(x);
  });
  const Tensor x = normal({1000});
  step(x);
  EXPECT_EQ(test::occurrences(step.print_plan(), "copy"), 0u) << step.print_plan();
  const void* const before = w.read().to_array().buffer->data();
  step(x);
  expect_close(w, 2 * x, 1e-6);
  EXPECT_EQ(w.read().to_array().buffer->data(), before);
}

TEST(TileParameters, WhoHoldsAVariablesOldValueKeepsIt) {
  Variable w(ones({100}));
  const Tensor old = w.read(), x = ones({100});
  auto step = jit([&](const Tensor& in) {
    kernels::grown({1}, w, in, 100, 128);
    return w + 0;
  });
  EXPECT_EQ(step(x).to_host(), full({100}, 2).to_host());
  EXPECT_EQ(old.to_host(), ones({100}).to_host());
  // Its own old value beside it
  auto twice = jit([&](const Tensor& in) {
    const Tensor seen = w.read();
    kernels::grown({1}, w, seen, 100, 128);
    return seen + in;
  });
  EXPECT_EQ(twice(x).to_host(), full({100}, 3).to_host());
  EXPECT_EQ(w.read().to_host(), full({100}, 4).to_host());
  kernels::grown({1}, w, x, 100, 128);  // outside of a trace
  EXPECT_EQ(w.read().to_host(), full({100}, 5).to_host());
}

}  // namespace
}  // namespace tegula
