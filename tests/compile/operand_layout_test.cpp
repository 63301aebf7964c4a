// An operand that many products read lies as the device likes it: one copy for all of them, made again when the operand changes.

#include <gtest/gtest.h>

#include <string>

#include "tegula/cpu/calls/library.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

using Tensors = std::vector<Tensor>;
constexpr std::int64_t kBatch = 8, kWidth = 24;
constexpr std::int64_t kEnough = 16;  // products that pay for a copy

/// h = tanh(x_t + h Wᵀ) over the steps of x; W's rows lie in memory as columns of the product's operand.
Tensor last_of(const Tensor& w, const Tensor& x) {
  return scan(
             [&](const Tensors& c, const Tensors& in) {
               const Tensor h = tanh(in[0] + matmul(c[0], transpose(w)));
               return Scanned{{h}, {h}};
             },
             {zeros({kBatch, kWidth})}, {x})
      .carry[0];
}
Tensor written_out(const Tensor& w, const Tensor& x) {
  Tensor h = zeros({kBatch, kWidth});
  for (std::int64_t t = 0; t < x.size(0); ++t) h = tanh(select(x, 0, t) + matmul(h, transpose(w)));
  return h;
}

int copies(const std::string& plan) { return test::occurrences(plan, " tile copy"); }

class OperandLayout : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Steps, OperandLayout, testing::Values(1, 2, kEnough - 1, kEnough, kEnough + 1, 40));

TEST_P(OperandLayout, OfALoopIsThatOfTheStepsWrittenOut) {
  Variable w(normal({kWidth, kWidth}) * 0.3);
  const Tensor x = normal({GetParam(), kBatch, kWidth});
  eval(x);
  auto looped = jit([&](Tensor in) {
    const Tensor y = sum(square(last_of(w.read(), in)));
    return Tensors{y, grad(y, w), grad(y, in)};
  });
  for (int round = 0; round < 3; ++round) {  // the copy is that of the value of now
    const Tensor y = sum(square(written_out(w.read(), x)));
    const Tensors want{y, grad(y, w), grad(y, x)}, got = looped(x);
    for (std::size_t k = 0; k < want.size(); ++k) expect_close(got[k], want[k], 2e-5);
    w = normal({kWidth, kWidth}) * 0.3;
  }
}

TEST_P(OperandLayout, OfAWrittenOutRecurrenceIsOneCopyForAllSteps) {
  if (default_device().number() != 0) GTEST_SKIP() << "this device takes operands as they lie";
  const std::int64_t steps = GetParam();
  Variable w(normal({kWidth, kWidth}) * 0.3);
  const Tensor x = normal({steps, kBatch, kWidth});
  eval(x);
  auto run = jit([&](Tensor in) { return written_out(w.read(), in); });
  const Tensor got = run(x), want = last_of(w.read(), x);
  expect_close(got, want, 2e-5);
  auto without = jit([&](Tensor in) { return written_out(transpose(w.read()), in); });  // lies in rows as it is
  without(x);
  // For a Variable that the function does not write, the copy is made once and kept: it pays at once.
  EXPECT_EQ(copies(run.print_plan()) - copies(without.print_plan()), steps >= 2 ? 1 : 0) << run.print_plan();
  const Tensor other = w.read();
  auto given = jit([&](Tensor weight, Tensor in) { return written_out(weight, in); });
  expect_close(given(other, x), want, 2e-5);
  EXPECT_EQ(copies(given.print_plan()) - copies(without.print_plan()), steps >= kEnough ? 1 : 0) << given.print_plan();
}

TEST(OperandLayouts, WhatTheCpuWants) {
  const Layout rows = Layout::dense({8, 32}), operand = Layout::dense({32, 64}), turned{{32, 64}, {1, 32}, 0};
  const auto ways = [&](DType dtype, const Layout& a, const Layout& b) {
    return runtime::cpu().candidates(runtime::Matmul::of(dtype, a, b, Layout::dense({a.shape[0], 64})));
  };
  for (const DType dtype : {f32, f64}) {
    const auto both = ways(dtype, rows, turned);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(std::get<runtime::Matmul>(both[0].description).b.layout, operand);
    EXPECT_EQ(std::get<runtime::Matmul>(both[1].description).b.layout, turned);
    EXPECT_GT(both[1].seconds.value(), both[0].seconds.value());
  }
  EXPECT_EQ(ways(f32, rows, operand).size(), 1U);                     // lies so
  EXPECT_EQ(ways(f32, Layout::dense({3, 32}), turned).size(), 1U);  // few rows: columns are read as they lie
  EXPECT_EQ(ways(bf16, rows, turned).size(), 1U);
}

}  // namespace
}  // namespace tegula
