// Kernels of a user's own: values against the library's ops on every device, sizes that do not divide, several results, gradients, refusals.

#include "tegula/ops/tile_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

using tile::Reduction;

void vector_add(tile::Builder& b, const TileArguments& a) {
  const auto i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]), within = i < a.numbers[0];
  b.store(a.outputs[0] + i, b.load(a.inputs[0] + i, within) + b.load(a.inputs[1] + i, within), within);
}
Tensor added(const Tensor& x, const Tensor& y, std::int64_t block = 256) {
  const std::int64_t n = x.numel();
  return tile_kernel("vector_add", vector_add, {x, y},
                     {.grid = {divide_up(n, block)}, .outputs = {{x.shape(), x.dtype()}}, .numbers = {n}, .constants = {block}})[0];
}

// One row an instance. numbers: columns.
void softmax_rows(tile::Builder& b, const TileArguments& a) {
  const auto j = b.arange(0, a.constants[0]), within = j < a.numbers[0], at = b.program_id(0) * a.numbers[0] + j;
  const auto x = b.load(a.inputs[0] + at, within, b.constant(-INFINITY, f32));
  const auto e = formula::exp(x - tile::reduce(x, 0, Reduction::Max));
  b.store(a.outputs[0] + at, e / tile::reduce(e, 0, Reduction::Sum), within);
}

// numbers: M, N, K. constants: BM, BN, BK.
void product(tile::Builder& b, const TileArguments& a) {
  const auto m = tile::col(b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]));
  const auto n = tile::row(b.program_id(1) * a.constants[1] + b.arange(0, a.constants[1]));
  const auto M = a.numbers[0], N = a.numbers[1], K = a.numbers[2];
  const auto zero = b.constant(std::int64_t{0}, i64), step = b.constant(a.constants[2], i64);
  const auto sums = b.for_(zero, K, step, {b.full({a.constants[0], a.constants[1]}, 0, f32)}, [&](tile::Value first, auto carried) {
    const auto k = first + b.arange(0, a.constants[2]), column = tile::row(k), row = tile::col(k);
    const auto x = b.load(a.inputs[0] + m * K + column, m < M && column < K);
    const auto y = b.load(a.inputs[1] + row * N + n, row < K && n < N);
    return std::vector<tile::Value>{tile::dot(x, y, carried[0])};
  });
  b.store(a.outputs[0] + m * N + n, sums[0], m < M && n < N);
}

TEST(TileKernel, AddsVectorsOfAnySize) {
  for (const std::int64_t n : {1, 255, 256, 1000, 0}) {
    const Tensor x = normal({n}), y = normal({n});
    EXPECT_EQ(added(x, y).to_host(), (x + y).to_host()) << n;
  }
  const Tensor x = cast(normal({33}), f16), y = transpose(reshape(cast(normal({33}), f16), {3, 11}));  // a strided one is made dense
  EXPECT_EQ(added(reshape(x, {11, 3}), y).to_host(), (reshape(x, {11, 3}) + y).to_host());
}

TEST(TileKernel, IsANodeLikeOthersAndOneForEachSetOfArguments) {
  auto f = jit([](const Tensor& x) { return added(x * 2.0, x, 128) + added(x, x, 256); });
  for (int call = 0; call < 3; ++call) EXPECT_EQ(f(ones({300})).to_host(), std::vector<float>(300, 5));
  EXPECT_EQ(f.executables(), 1);
}

TEST(TileKernel, SoftmaxAndProductAreThoseOfTheLibrary) {
  const Tensor x = normal({7, 100});
  const Tensor s =
      tile_kernel("softmax", softmax_rows, {x}, {.grid = {7}, .outputs = {{{7, 100}, f32}}, .numbers = {100}, .constants = {128}})[0];
  expect_close(s, softmax(x, 1), 1e-6);
  const Tensor a = normal({50, 37}), b = normal({37, 70});
  const Tensor c = tile_kernel("product", product, {a, b},
                               {.grid = {2, 3}, .outputs = {{{50, 70}, f32}}, .numbers = {50, 70, 37}, .constants = {32, 32, 16}})[0];
  expect_close(c, matmul(a, b), 1e-5);
}

TEST(TileKernel, HasSeveralResultsOfWhichSomeMayNotBeRead) {
  const auto both = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, a.constants[0]), within = i < a.numbers[0];
    const auto x = b.load(a.inputs[0] + i, within);
    b.store(a.outputs[0] + i, x * x, within);
    b.store(a.outputs[1] + i, x * 3, within);
  };
  const Tensor x = normal({13});
  const auto run = [&] {
    return tile_kernel("both", both, {x}, {.grid = {1}, .outputs = {{{13}, f32}, {{13}, f32}}, .numbers = {13}, .constants = {16}});
  };
  EXPECT_EQ(run()[1].to_host(), (x * 3.0).to_host());
  const auto parts = run();
  EXPECT_EQ(parts[0].to_host(), (x * x).to_host());
  EXPECT_EQ(parts[1].to_host(), (x * 3.0).to_host());
}

TEST(TileKernel, TrainsWithAGradientOfItsOwn) {
  const auto cube = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, a.constants[0]), within = i < a.numbers[0];
    const auto x = b.load(a.inputs[0] + i, within);
    b.store(a.outputs[0] + i, x * x * x, within);
  };
  const auto slope = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, a.constants[0]), within = i < a.numbers[0];
    const auto x = b.load(a.inputs[0] + i, within), dy = b.load(a.inputs[1] + i, within);
    b.store(a.outputs[0] + i, x * x * 3 * dy, within);
  };
  const TileLaunch launch{.grid = {1}, .outputs = {{{5}, f64}}, .numbers = {5}, .constants = {8}};
  const auto cubed = [&](const Tensor& t) {
    return custom_function(
        "cube", [&](const std::vector<Tensor>& in) { return tile_kernel("cube", cube, in, launch)[0]; },
        [&](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) { return tile_kernel("slope", slope, {in[0], dy}, launch); },
        {t});
  };
  const Tensor x = normal({5}, 0, 1, {.dtype = f64}), factor = normal({5}, 0, 1, {.dtype = f64});
  expect_close(grad(sum(cubed(x) * factor), x), 3.0 * x * x * factor, 1e-12);
}

TEST(TileKernel, RefusesWhatMakesNoSense) {
  const Tensor x = ones({4});
  const std::vector<TileOutput> outputs{{{4}, f32}};
  EXPECT_HAS_MESSAGE(tile_kernel("k", nullptr, {x}, {.grid = {1}, .outputs = outputs}), "tile_kernel: got no kernel");
  EXPECT_HAS_MESSAGE(tile_kernel("k", vector_add, {x}, {.grid = {1}}), "got no outputs");
  EXPECT_HAS_MESSAGE(tile_kernel("k", vector_add, {x}, {.grid = {1, -1}, .outputs = outputs}), "got the grid (1, -1)");
  EXPECT_HAS_MESSAGE(tile_kernel("k", vector_add, {x, Tensor()}, {.grid = {1}, .outputs = outputs}), "empty tensor");
  const auto unlike = [](tile::Builder& b, const TileArguments& a) { b.store(a.outputs[0] + b.arange(0, 4), b.arange(0, 8)); };
  EXPECT_HAS_MESSAGE(tile_kernel("unlike", unlike, {x}, {.grid = {1}, .outputs = outputs})[0].to_host(), "tile_kernel_test.cpp");
}

}  // namespace
}  // namespace tegula
