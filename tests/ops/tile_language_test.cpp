// Kernels in the tile language: Triton's, ported line by line, beside the library's ops; values carried by loops; refused kernels, and the lines named.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/tile_jit.h"
#include "tests/support/message.h"
#include "tests/support/tile_kernels.h"
#include "tests/support/values.h"

namespace kernels {
constexpr int kBreak = __LINE__ + 2;
const auto left = jit("left", [](Out<float> z, Int n) {
  for (auto i : range(n)) {
    if (true) break;
  }
  store(z, 1.0);
});
constexpr int kReturn = __LINE__ + 2;
const auto returned = jit("returned", [](Out<float> z, Int n) {
  for (auto i : range(n)) {
    if (true) return;
    store(z, i);
  }
});
constexpr int kChanged = __LINE__ + 3;
const auto changed = jit("changed", [](Out<float> z, Int n) {
  auto acc = zeros<float>({4});
  for (auto i : range(n)) acc = zeros<float>({8});
  store(z, sum(acc, 0));
});
constexpr int kSizes = __LINE__ + 3;
const auto sizes = jit("sizes", [](Out<float> z, Int) {
  auto a = zeros<float>({4, 8}), b = zeros<float>({4, 8});
  store(z, sum(sum(dot(a, b), 0), 0));
});
constexpr int kLost = __LINE__ + 4;
const auto lost = jit("lost", [](Out<float> z, Int n) {
  Tile x;
  for (auto i : range(n)) x = 1.0f;
  store(z, x);
});
constexpr int kMany = __LINE__ + 3;
const auto many = jit("many", [](Out<float> z, Int n) {
  auto m = arange(0, 4) < n;
  if_(m, [&] { store(z, 1.0); });
});
constexpr int kUnfilled = __LINE__ + 1;
const auto unfilled = jit("unfilled", [](Out<float> z, Int) { atomic_add(z, 1.0); });
constexpr int kAsserted = __LINE__ + 3;
const auto asserted = jit("asserted", [](Ptr<float> x, Out<float> z, Int n) {
  for (auto i : range(n)) {
    device_assert(load(x + i) > 0, i, "x must be positive");
    store(z + i, log(load(x + i)));
  }
});
}  // namespace kernels

namespace tegula {
namespace {

using test::expect_close;
using tile::cdiv, tile::out;

/// "tile_language_test.cpp:<line>".
std::string at(int line) { return "tile_language_test.cpp:" + std::to_string(line); }

TEST(TileLanguage, KernelsPortedFromTritonGiveWhatTheLibraryGives) {
  manual_seed(1);
  {
    const std::int64_t n = 9'843;
    const Tensor x = normal({n}), y = normal({n});
    EXPECT_EQ(kernels::add<float>({cdiv(n, 1024)}, x, y, out({n}), n, 1024)[0].to_host(), (x + y).to_host());
    const Tensor a = cast(x, f64), b = cast(y, f64);
    EXPECT_EQ(kernels::add<double>({cdiv(n, 1024)}, a, b, out({n}), n, 1024)[0].to_host<double>(), (a + b).to_host<double>());
  }
  const Tensor x = normal({23, 81});
  expect_close(kernels::softmax_rows({4}, x, out({23, 81}), 23, 81, 128)[0], softmax(x, 1), 1e-6);
  const std::int64_t M = 100, N = 70, K = 130;
  const Tensor a = normal({M, K}), b = normal({K, N});
  expect_close(kernels::matmul({cdiv(M, 32) * cdiv(N, 32)}, a, b, out({M, N}), M, N, K, 32, 32, 16, 2)[0], matmul(a, b), 1e-4);
  const Tensor rows = normal({5, 300}), w = normal({300}), bias = normal({300});
  const auto r = kernels::layer_norm({5}, rows, w, bias, out({5, 300}), out({5}), out({5}), 300, 1e-5, 128);
  expect_close(r[0], layer_norm(rows, {300}, {w, bias}), 1e-5);
  expect_close(r[1], mean(rows, {1}), 1e-6);
  const Tensor q = normal({2, 3, 50, 32}), k = normal({2, 3, 50, 32}), v = normal({2, 3, 50, 32});
  expect_close(kernels::attention({cdiv(50, 32), 6}, q, k, v, out({2, 3, 50, 32}), 50, 32, 32, 16)[0],
               scaled_dot_product_attention(q, k, v, {.causal = true}), 1e-5);
}

TEST(TileLanguage, AtomicsAddToAResultThatBeginsWithItsFill) {
  const Tensor x = cast(remainder(arange(1000) * 7, 10), i32);
  EXPECT_EQ(kernels::histogram({cdiv(1000, 128)}, x, out({10}, 0), 1000, 128)[0].to_host<std::int32_t>(),
            std::vector<std::int32_t>(10, 100));
  EXPECT_EQ(kernels::histogram({cdiv(1000, 128)}, x, out({10}, -5), 1000, 128)[0].to_host<std::int32_t>(),
            std::vector<std::int32_t>(10, 95));
}

TEST(TileLanguage, LoopsCarryWhatTheirBodiesAssign) {
  for (const int n : {0, 1, 10}) {
    const auto z = kernels::control({1}, out({6}), n)[0].to_host<std::int64_t>();
    std::int64_t a = 0, b = 1, total = 0, thrice = 0;
    for (int i = 0; i < n; ++i) {
      std::swap(a, b);
      b = a + b;
      for (int j = 0; j < i; ++j) total += j * i + (j % 2 == 0 ? 1 : -1);
      thrice += 3 * i;
    }
    EXPECT_EQ(z, (std::vector<std::int64_t>{a, total, thrice, n > 5 ? 10 : 20, n > 0 ? n - 1 : 7, 100 - 2 * n * n})) << n;
  }
}

TEST(TileLanguage, AVariableIsUpdatedInPlaceAlsoUnderJit) {
  Variable w = full({5}, 1.0);
  const Tensor g = arange(5.0f);
  const auto update = [&](const Tensor& t) { return kernels::step({1}, w, t, out({1}), 0.5, false, 5, 8)[0]; };
  EXPECT_EQ(update(g).item(), 0.25f * 30);
  EXPECT_EQ(w.to_host(), (std::vector<float>{1, 0.5, 0, -0.5, -1}));
  auto f = jit(update);
  for (int call = 0; call < 3; ++call) f(g);
  EXPECT_EQ(w.to_host(), (std::vector<float>{1, -1, -3, -5, -7}));
  kernels::step({1}, w, g, out({1}), 2.0, true, 5, 8);
  EXPECT_EQ(w.to_host(), (std::vector<float>{1, 1, 1, 1, 1}));
}

TEST(TileLanguage, GradientsFlowThroughAKernelThatHasOne) {
  const std::int64_t n = 37;
  const Tensor x = normal({n}), u = normal({n}), v = normal({n});
  const auto by_kernel = kernels::cube.gradient(kernels::cube_backward);
  const auto by_function = kernels::cube.gradient([](const tile::TileGradient& g) {
    const Tensor& t = g.inputs[0];
    return std::vector<Tensor>{3.0 * t * t * g.gradients[0] + 2.0 * g.results[1] / t * g.gradients[1]};
  });
  const Tensor want = 3.0 * x * x * u + 2.0 * x * v;
  for (const auto& k : {by_kernel, by_function}) {
    const auto loss = [&](const Tensor& t) {
      const auto r = k({cdiv(n, 16)}, t, out({n}), out({n}), n, 16);
      return sum(r[0] * u) + sum(r[1] * v);
    };
    expect_close(grad(loss(x), x), want, 1e-5);
    auto f = jit([&](const Tensor& t) { return grad(loss(t), t); });
    for (int call = 0; call < 3; ++call) expect_close(f(x), want, 1e-5);
  }
  const auto one = by_kernel({cdiv(n, 16)}, x, out({n}), out({n}), n, 16);
  expect_close(grad(sum(one[1]), x), 2.0 * x, 1e-6);  // the other result is not used
}

TEST(TileLanguage, LoopsCountDown) {
  for (const bool at_once : {false, true}) {
    const auto run = [&](std::int64_t n) {
      return (at_once ? kernels::down.check()({1}, out({4}), n) : kernels::down({1}, out({4}), n))[0].to_host<std::int64_t>();
    };
    EXPECT_EQ(run(5), (std::vector<std::int64_t>{543210, 96, 321, 5 * (5 + 3 + 1) + 4 * (4 + 2) + 3 * (3 + 1) + 2 * 2 + 1}));
    EXPECT_EQ(run(9)[1], 0);
    EXPECT_EQ(run(-1)[0], 0);
    EXPECT_EQ(run(-2)[0], 0);
  }
}

TEST(TileLanguage, ArithmeticOfStoredTypesIsRoundedToThem) {
  const Tensor x = cast(tensor({256.0, 1.0}), bf16);
  EXPECT_EQ(kernels::rounding({1}, x, out({2}))[0].to_host(), (std::vector<float>{256, 256}));  // 257 has no bf16
  const Tensor y = cast(tensor({100.0, -100.0}), i8);
  EXPECT_EQ(kernels::wrapping({1}, y, out({2}))[0].to_host<std::int32_t>(), (std::vector<std::int32_t>{-56, 56}));
}

TEST(TileLanguage, RandomNumbersAreUniformAndNormal) {
  const auto r = kernels::random({1}, out({4096}), out({4096}), out({4096}), 17, 4096);
  EXPECT_NEAR(mean(r[1]).item(), 0.5, 0.02);
  EXPECT_GE(min(r[1]).item(), 0);
  EXPECT_LT(max(r[1]).item(), 1);
  EXPECT_NEAR(mean(r[2]).item(), 0, 0.06);
  EXPECT_NEAR(mean(r[2] * r[2]).item(), 1, 0.08);
}

template <class K, class... A>
void build(const K& kernel, const A&... arguments) {
  eval(kernel({1}, arguments...)[0]);
}

TEST(TileLanguage, RefusesWithTheLineOfTheKernel) {
  EXPECT_HAS_MESSAGE(build(kernels::left, out({4}), 4), "a loop that was left by break or return");
  EXPECT_HAS_MESSAGE(build(kernels::left, out({4}), 4), at(kernels::kBreak));
  EXPECT_HAS_MESSAGE(build(kernels::returned, out({4}), 4), at(kernels::kReturn));
  EXPECT_HAS_MESSAGE(build(kernels::changed, out({4}), 4), "f32[8] for a tile that was f32[4] before the loop");
  EXPECT_HAS_MESSAGE(build(kernels::changed, out({4}), 4), at(kernels::kChanged));
  EXPECT_HAS_MESSAGE(build(kernels::sizes, out({4}), 4), "(M, K), (K, N)");
  EXPECT_HAS_MESSAGE(build(kernels::sizes, out({4}), 4), at(kernels::kSizes));
  EXPECT_HAS_MESSAGE(build(kernels::lost, out({4}), 4), "a value on every way to here");
  EXPECT_HAS_MESSAGE(build(kernels::lost, out({4}), 4), at(kernels::kLost));
  EXPECT_HAS_MESSAGE(build(kernels::many, out({4}), 4), "bool scalar");
  EXPECT_HAS_MESSAGE(build(kernels::many, out({4}), 4), at(kernels::kMany));
  EXPECT_HAS_MESSAGE(build(kernels::unfilled, out({4}), 4), "begins with what memory held");
  EXPECT_HAS_MESSAGE(build(kernels::unfilled, out({4}), 4), at(kernels::kUnfilled));
  EXPECT_HAS_MESSAGE(tile::arange(0, 4), "outside of a kernel");
  EXPECT_HAS_MESSAGE(build(kernels::add<float>, ones({4}, f64), ones({4}), out({4}), 4, 4), "a tensor of f64");
}

TEST(TileLanguage, AnAssertionInALoopNamesItsLineAndTheValue) {
  const Tensor x = tensor({1.0f, 2.0f, -1.0f, 3.0f});
  EXPECT_HAS_MESSAGE(build(kernels::asserted, x, out({4}), 4), "the value 2 where asserted says \"x must be positive\"");
  EXPECT_HAS_MESSAGE(build(kernels::asserted, x, out({4}), 4), at(kernels::kAsserted));
  EXPECT_NO_THROW(build(kernels::asserted, x, out({4}), 2));
}

}  // namespace
}  // namespace tegula
