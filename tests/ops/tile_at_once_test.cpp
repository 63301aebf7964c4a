// Kernels of the tile language run at once: the values of the executor, and what they do wrong with memory, with line, instance, element and tensor.

#include <gtest/gtest.h>

#include <string>

#include "tegula/compile/jit.h"
#include "tegula/core/check.h"
#include "tegula/core/warning.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tests/support/message.h"
#include "tests/support/tile_kernels.h"
#include "tests/support/values.h"

namespace faults {
using namespace tegula::tile;

constexpr int kOffByOne = __LINE__ + 3;
const auto off_by_one = jit("off_by_one", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto v = load(x + i, i <= n, 0.0);
  store(y + i, v, i < n);
});
constexpr int kNoMask = __LINE__ + 3;
const auto no_mask = jit("no_mask", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(y + i, load(x + i, i < n));
});
constexpr int kBeforeTheTensor = __LINE__ + 2;
const auto before =
    jit("before", [](Ptr<float> x, Out<float> y, Int, Const<int> BLOCK) { store(y + arange(0, BLOCK), load(x + arange(0, BLOCK) - 1)); });
constexpr int kRacing = __LINE__ + 2;
const auto racing =
    jit("racing", [](Ptr<float> x, Out<float> y, Int, Const<int> BLOCK) { store(y + arange(0, BLOCK), load(x + program_id(0))); });
constexpr int kUnstored = __LINE__ + 2;
const auto unstored = jit("unstored", [](Ptr<float> x, Out<float> y, Int, Const<int> BLOCK) {
  auto old = load(y + arange(0, BLOCK));
  store(y + arange(0, BLOCK), old + load(x));
});
constexpr int kWrongStride = __LINE__ + 3;
const auto wrong_stride = jit("wrong_stride", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  auto v = load(x + col(i) * (n + 1) + row(i), col(i) < n && row(i) < n, 0.0);
  store(y + i, sum(v, 1), i < n);
});
constexpr int kOthersResult = __LINE__ + 4;
const auto others_result = jit("others_result", [](Ptr<float> x, Out<float> y, Int, Const<int>) {
  auto p = program_id(0);
  store(y + p, load(x + p));
  if_(p > 0, [&] { store(y + p, load(y + p - 1)); });
});
constexpr int kOwnAndAtomic = __LINE__ + 3;
const auto own_and_atomic = jit("own_and_atomic", [](Ptr<float>, Out<float> y, Int, Const<int>) {
  if_(program_id(0) == 0, [&] { atomic_add(y, 1.0); });
  if_(program_id(0) == 1, [&] { store(y, 1.0); });
});
const auto forgotten = jit("forgotten", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  store(y + i, load(x + i), i < n - 1);
});
constexpr int kToInput = __LINE__ + 1;
const auto to_input = jit("to_input", [](Ptr<float> x, Out<float>, Int, Const<int>) { store(x, 1.0); });
constexpr int kAfterTheLoop = __LINE__ + 5;
const auto after_the_loop = jit("after_the_loop", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto p = x + arange(0, BLOCK);
  auto acc = zeros<float>({BLOCK});
  for ([[maybe_unused]] auto k : range(0, n, 2)) {
    acc += load(p);
    p += BLOCK;
  }
  store(y + arange(0, BLOCK), acc, arange(0, BLOCK) < n);
});
constexpr int kWrongAxis = __LINE__ + 3;
const auto wrong_axis = jit("wrong_axis", [](Ptr<float> x, Out<float> y, Int n, Const<int>) {
  auto i = arange(0, 2);
  store(y + col(i) + row(i) * n, load(x + col(i) * 2 + row(i)));
});
constexpr int kInABranch = __LINE__ + 2;
const auto in_a_branch = jit("in_a_branch", [](Ptr<float> x, Out<float> y, Int n, Const<int>) {
  if_(program_id(0) == 1, [&] { store(y, load(x + n)); }, [&] { store(y + 1, 1.0); });
});
constexpr int kByData = __LINE__ + 2;
const auto by_data = jit("by_data", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  store(y + cast<int>(load(x + arange(0, BLOCK), arange(0, BLOCK) < n)) * 4, 1.0, arange(0, BLOCK) < n);
});
constexpr int kAtomicOutside = __LINE__ + 1;
const auto atomic_outside = jit("atomic_outside", [](Ptr<float>, Out<float> y, Int n, Const<int>) { atomic_add(y + n, 1.0); });
constexpr int kReadsAnAtomic = __LINE__ + 3;
const auto reads_an_atomic = jit("reads_an_atomic", [](Ptr<float>, Out<float> y, Int, Const<int>) {
  atomic_add(y, 1.0);
  store(y + 1 + program_id(0), load(y));
});
constexpr int kOverlap = __LINE__ + 3;
const auto overlap = jit("overlap", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = program_id(0) * (BLOCK - 1) + arange(0, BLOCK);
  store(y + i, load(x + i, i < n), i < n);
});
constexpr int kNegativeStride = __LINE__ + 2;
const auto negative_stride =
    jit("negative_stride", [](Ptr<float> x, Out<float> y, Int n, Const<int>) { store(y + arange(0, 4), load(x + n - arange(0, 4))); });
constexpr int kWide = __LINE__ + 3;
const auto through_a_function = [](Tile p, Tile v) {
  store(p, v);  // the line of the function
};
const auto in_a_function = jit("in_a_function", [](Ptr<float>, Out<float> y, Int n, Const<int>) { through_a_function(y + n, 1.0); });
constexpr int kAssertion = __LINE__ + 2;
const auto assertion = jit("assertion", [](Ptr<float> x, Out<float> y, Int n, Const<int>) {
  device_assert(load(x + arange(0, 4)) < 1, n, "below 1");
  store(y + arange(0, 4), 0.0);
});
const auto twice = jit("twice", [](Ptr<float> x, Out<float> y, Int n, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  store(y + i, load(x + i, i < n) * 2, i < n);
});
constexpr int kBackward = __LINE__ + 3;
const auto twice_backward = jit("twice_backward", [](Ptr<float>, Ptr<float> dy, Out<float> dx, Int n, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  store(dx + i, load(dy + i) * 2, i < n);
});
constexpr int kPrinted = __LINE__ + 3;
const auto printed = jit("printed", [](Ptr<float> x, Out<float> y) {
  auto i = program_id(0) * 2 + arange(0, 2);
  device_print("x", load(x + i));
  store(y + i, i);
});

const auto locked = jit("locked", [](Out<std::int32_t> lock, Out<float> sum) {
  while_([&] { return atomic_cas(lock, 0, 1) == 1; }, [] {});
  store(sum, load(sum) + program_id(0));
  atomic_xchg(lock, 0);
});
constexpr int kLooselyLocked = __LINE__ + 3;  // where it reads the sum
const auto loosely_locked = jit("loosely_locked", [](Out<std::int32_t> lock, Out<float> sum) {
  while_([&] { return atomic_cas(lock, 0, 1, {.sem = Sem::Relaxed}) == 1; }, [] {});
  store(sum, load(sum) + program_id(0));
  atomic_xchg(lock, 0, {.sem = Sem::Relaxed});
});
const auto last_adds = jit("last_adds", [](Out<float> parts, Out<std::int32_t> counter, Out<float> total) {
  store(parts + program_id(0), program_id(0));
  auto before = atomic_add(counter, 1);
  if_(before == num_programs(0) - 1, [&] { store(total, sum(load(parts + arange(0, 6)), 0)); });
});
constexpr int kHinted = __LINE__ + 2;
const auto hinted = jit("hinted", [](Ptr<float> x, Out<float> y, Int n) {
  auto first = multiple_of(n, 2);
  auto i = first + arange(0, 4);
  assume(n < 5);
  store(y + arange(0, 4), load(x + i % 8));
});
const auto counted = jit("counted", [](Ptr<float> x, Out<float> y, Int n) {
  auto i = max_contiguous(arange(0, 4) * n, 4);
  store(y + arange(0, 4), load(x + i % 8));
});
}  // namespace faults

namespace tegula {
namespace {

using test::expect_close;
using tile::cdiv, tile::out;

std::string at(int line) { return "tile_at_once_test.cpp:" + std::to_string(line); }

template <class K>
std::string said(const K& kernel, int line, std::int64_t n = 4, const std::optional<tegula::Number>& fill = {}) {
  const std::string text = message_of([&] { kernel.check()({2}, ones({n}), tile::OutShape{{n}, fill}, n, 8); });
  EXPECT_TRUE(contains(text, at(line))) << text;
  return text;
}

TEST(TileAtOnce, KernelsGiveWhatTheExecutorGives) {
  manual_seed(3);
  const Tensor x = normal({100}), y = normal({100});
  EXPECT_EQ(kernels::add<float>.check()({4}, x, y, out({100}), 100, 32)[0].to_host(), (x + y).to_host());
  const Tensor rows = normal({7, 30});
  const auto softmax = [&](const auto& k) { return k({3}, rows, out({7, 30}), 7, 30, 32)[0]; };
  expect_close(softmax(kernels::softmax_rows.check()), softmax(kernels::softmax_rows), 1e-6);
  const Tensor a = normal({20, 9}), b = normal({9, 17});
  const auto product = [&](const auto& k) { return k({9}, a, b, out({20, 17}), 20, 17, 9, 8, 8, 4, 2)[0]; };
  expect_close(product(kernels::matmul.check({.shuffle = 5})), product(kernels::matmul), 1e-5);
  const Tensor q = normal({2, 20, 8}), k = normal({2, 20, 8}), v = normal({2, 20, 8});
  const auto attention = [&](const auto& f) { return f({3, 2}, q, k, v, out({2, 20, 8}), 20, 8, 8, 8)[0]; };
  expect_close(attention(kernels::attention.check()), attention(kernels::attention), 1e-5);
  for (const int n : {0, 1, 10}) {
    EXPECT_EQ(kernels::control.check()({1}, out({6}), n)[0].to_host<std::int64_t>(),
              kernels::control({1}, out({6}), n)[0].to_host<std::int64_t>());
  }
  const auto numbers = [](const auto& f) { return f({1}, out({64}), out({64}), out({64}), 17, 64); };
  const auto drawn = numbers(kernels::random.check()), want = numbers(kernels::random);
  EXPECT_EQ(drawn[0].to_host<std::int32_t>(), want[0].to_host<std::int32_t>());
  expect_close(drawn[2], want[2], 1e-5);
  const Tensor bins = cast(remainder(arange(100), 10.0), i32);
  EXPECT_EQ(kernels::histogram.check({.shuffle = 1})({4}, bins, out({10}, 0), 100, 32)[0].to_host<std::int32_t>(),
            std::vector<std::int32_t>(10, 10));
}

TEST(TileAtOnce, VariablesAndGradientsAreThoseOfTheExecutor) {
  Variable w = full({5}, 1.0);
  EXPECT_EQ(kernels::step.check()({1}, w, arange(5.0f), out({1}), 0.5, false, 5, 8)[0].item(), 7.5f);
  EXPECT_EQ(w.to_host(), (std::vector<float>{1, 0.5, 0, -0.5, -1}));
  const Tensor x = normal({9});
  const auto k = kernels::cube.check().gradient(kernels::cube_backward);
  expect_close(grad(sum(k({1}, x, out({9}), out({9}), 9, 16)[0]), x), 3.0 * x * x, 1e-5);
}

TEST(TileAtOnce, FindsWhatAKernelDoesWrongWithMemory) {
  EXPECT_TRUE(contains(said(faults::off_by_one, faults::kOffByOne),
                       "a load of element 4 of input 0, f32(4,) with 4 elements, by program (0, 0, 0), element 4"));
  EXPECT_TRUE(contains(said(faults::no_mask, faults::kNoMask), "a store to element 4 of result 0"));
  EXPECT_TRUE(contains(said(faults::before, faults::kBeforeTheTensor), "element -1 of input 0"));
  EXPECT_TRUE(contains(said(faults::racing, faults::kRacing, 8),
                       "result 0, f32(8,) with 8 elements, which program (0, 0, 0) stores, too, by program (1, 0, 0)"));
  EXPECT_TRUE(contains(said(faults::unstored, faults::kUnstored, 8), "which nobody has stored"));
  EXPECT_TRUE(contains(said(faults::wrong_stride, faults::kWrongStride), "a load of element 5 of input 0"));
  EXPECT_TRUE(contains(said(faults::others_result, faults::kOthersResult, 2), "a load of element 0 of result 0"));
  EXPECT_TRUE(contains(said(faults::own_and_atomic, faults::kOwnAndAtomic, 1, 0), "which an atomic word stores, too"));
  EXPECT_TRUE(contains(said(faults::to_input, faults::kToInput), "stores to results alone"));
  EXPECT_TRUE(contains(said(faults::after_the_loop, faults::kAfterTheLoop, 8), "element 8 of input 0"));
  EXPECT_TRUE(contains(said(faults::wrong_axis, faults::kWrongAxis), "element 4 of result 0"));
  EXPECT_TRUE(contains(said(faults::in_a_branch, faults::kInABranch), "element 4 of input 0"));
  EXPECT_TRUE(contains(said(faults::by_data, faults::kByData), "element 4 of result 0"));
  EXPECT_TRUE(contains(said(faults::atomic_outside, faults::kAtomicOutside, 4, 0), "an atomic word on element 4 of result 0"));
  EXPECT_TRUE(contains(said(faults::reads_an_atomic, faults::kReadsAnAtomic, 4, 0), "which an atomic word stores"));
  EXPECT_TRUE(contains(said(faults::overlap, faults::kOverlap, 15), "which program (0, 0, 0) stores, too, by program (1, 0, 0)"));
  EXPECT_TRUE(contains(said(faults::negative_stride, faults::kNegativeStride), "element 4 of input 0"));
  EXPECT_TRUE(contains(said(faults::in_a_function, faults::kWide - 1), "element 4 of result 0"));
  EXPECT_TRUE(contains(said(faults::assertion, faults::kAssertion), "the value 4 in program (0, 0, 0), expected below 1"));
  const std::string text = message_of([] { faults::forgotten.check()({1}, ones({4}), out({4}), 4, 4); });
  EXPECT_TRUE(contains(text, "element 3 of result 0, f32(4,) with 4 elements, which no instance stores")) << text;
}

TEST(TileAtOnce, AGradientsKernelIsCheckedToo) {
  const Checking on(Check::Tile);
  const auto kernel = faults::twice.gradient(faults::twice_backward);
  const Tensor x = ones({5});
  const std::string text = message_of([&] { grad(sum(kernel({1}, x, out({5}), 5, 8)[0]), x).to_host(); });
  EXPECT_TRUE(contains(text, "a load of element 5 of input 1")) << text;
  EXPECT_TRUE(contains(text, at(faults::kBackward))) << text;
  const auto few = faults::twice.gradient(faults::twice);  // one pointer
  const std::string line = at(__LINE__ + 1);
  const std::string refused = message_of([&] { grad(sum(few({1}, x, out({5}), 5, 8)[0]), x).to_host(); });
  EXPECT_TRUE(contains(refused, "1 Ptr parameters of a gradient") && contains(refused, line)) << refused;
}

TEST(TileAtOnce, PrintsTilesWithInstanceAndLine) {
  std::vector<std::string> said;
  set_warning_handler([&](const std::string& name, const std::string& text) { said.push_back(name + ": " + text); });
  faults::printed.check()({2}, tensor({1.5f, 2.0f, 3.0f, -4.0f}), out({4}));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(contains(said[1], "device_print: x in program (1, 0, 0) of printed at ")) << said[1];
  EXPECT_TRUE(contains(said[1], at(faults::kPrinted) + ": f32[2] {3, -4}")) << said[1];
  faults::printed({2}, tensor({1.5f, 2.0f, 3.0f, -4.0f}), out({4}))[0].to_host();
  ASSERT_EQ(said.size(), 4u) << "every device shows the same, in the order of the instances";
  EXPECT_EQ(said[2], said[0]);
  EXPECT_EQ(said[3], said[1]);
  auto f = jit([](const Tensor& x) { return faults::printed({2}, x, out({4}))[0]; });
  for (int call = 0; call < 3; ++call) {
    said.clear();
    f(tensor({1.5f, 2.0f, 3.0f, -4.0f})).to_host();
    ASSERT_EQ(said.size(), 2u) << "call " << call << ": a recorded launch prints, too";
    EXPECT_TRUE(contains(said[1], ": f32[2] {3, -4}")) << said[1];
  }
  set_warning_handler({});
}

TEST(TileAtOnce, WhatALockOrdersIsNoRace) {
  const auto sums = [](const auto& kernel) { return kernel({5}, out({1}, 0), out({1}, 0))[1].item(); };
  EXPECT_EQ(sums(faults::locked), 10);
  EXPECT_EQ(sums(faults::locked.check()), 10);
  EXPECT_EQ(sums(faults::locked.check({.shuffle = 3})), 10);
  const std::string text = message_of([&] { sums(faults::loosely_locked.check()); });
  EXPECT_TRUE(contains(text, "which program (0, 0, 0) stores, by program (1, 0, 0)")) << text;
  EXPECT_TRUE(contains(text, at(faults::kLooselyLocked))) << text;
}

TEST(TileAtOnce, TheLastInstanceMayReadWhatAllHaveLeft) {
  const auto total = [](const auto& kernel) { return kernel({6}, out({6}), out({1}, 0), out({1}, 0))[2].item(); };
  EXPECT_EQ(total(faults::last_adds), 15);
  EXPECT_EQ(total(faults::last_adds.check()), 15);
  EXPECT_EQ(total(faults::last_adds.check({.shuffle = 9})), 15);
}

TEST(TileAtOnce, HintsThatDoNotHoldAreFound) {
  const auto say = [](const auto& kernel, std::int64_t n) { return message_of([&] { kernel.check()({1}, arange(8.0f), out({4}), n); }); };
  EXPECT_EQ(say(faults::hinted, 4), "");
  for (const std::int64_t n : {3, 6}) EXPECT_TRUE(contains(say(faults::hinted, n), "expected ")) << n << say(faults::hinted, n);
  EXPECT_TRUE(contains(say(faults::hinted, 3), at(faults::kHinted)));
  EXPECT_TRUE(contains(say(faults::hinted, 6), at(faults::kHinted + 2))) << say(faults::hinted, 6);
  EXPECT_TRUE(contains(say(faults::counted, 4), "4 elements that count up by 1")) << say(faults::counted, 4);
  EXPECT_EQ(say(faults::counted, 1), "");
}

TEST(TileAtOnce, TheEnvironmentChecksEveryKernelOutsideOfTraces) {
  const Checking on(Check::Tile);
  const std::string text = message_of([] { faults::racing({2}, ones({8}), out({8}), 8, 8); });
  EXPECT_TRUE(contains(text, "stores, too")) << text;
  auto f = jit([](const Tensor& x) { return kernels::add<float>({4}, x, x, out({100}), 100, 32)[0]; });
  for (int call = 0; call < 3; ++call) EXPECT_EQ(f(ones({100})).to_host(), std::vector<float>(100, 2));
}

}  // namespace
}  // namespace tegula
