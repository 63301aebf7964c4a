// Products with few rows as tile programs of a device that queues: the same numbers as those of the CPU's calls.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tegula/simt/decide/layout.h"
#include "tegula/tegula.h"
#include "tests/support/close_values.h"
#include "tests/support/emulator.h"
#include "tests/support/occurrences.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

using test::Ran;

/// Results for these values, rounded to `rounded`, on the given device and in the given dtype.
Ran ran(const Function& f, const std::vector<std::pair<Shape, std::vector<double>>>& inputs, DType rounded, DType dtype,
        runtime::Device& device) {
  const test::OnDevice here(device);
  Tensors in;
  for (const auto& [shape, values] : inputs) in.push_back(cast(cast(tensor(values, shape), rounded), dtype));
  in.resize(6, cast(zeros({1}), dtype));
  for (const Tensor& x : in) eval(x);
  auto run = jit([&](Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor g) { return f({a, b, c, d, e, g}); });
  const auto call = [&] { return run(in[0], in[1], in[2], in[3], in[4], in[5]); };
  call();
  Ran out;
  for (const Tensor& y : call()) out.values.push_back(y.to_host<double>());
  out.plan = run.print_plan();
  return out;
}

/// In the dtype on a device that queues against f64 on the CPU; `programs`: so many products became programs (-1: whatever).
void expect_same(const Function& f, const std::vector<Shape>& shapes, DType dtype, int programs,
                 runtime::Device& device = test::QueuedDevice::create()) {
  std::vector<std::pair<Shape, std::vector<double>>> inputs;
  for (const Shape& shape : shapes) {
    // Results of about 1, where the tolerance is relative to them: a weight is by the root of how many terms a sum has.
    const std::int64_t most = shape.rank() == 2 ? std::max(shape[0], shape[1]) : 0,
                       least = shape.rank() == 2 ? std::min(shape[0], shape[1]) : 0;
    const bool many_terms = !inputs.empty() && most > 10000 && shapes[0][shapes[0].rank() - 1] == most;
    const double scale = many_terms                  ? 1 / std::sqrt(static_cast<double>(most))
                         : least > 0 && shape[0] > 8 ? 1 / std::sqrt(static_cast<double>(least))
                                                     : 1;
    inputs.emplace_back(shape, (normal(shape, 0, scale, {.dtype = f64})).to_host<double>());
  }
  const Ran got = ran(f, inputs, dtype, dtype, device), want = ran(f, inputs, dtype, f64, cpu());
  EXPECT_EQ(test::occurrences(want.plan, "tile row_product"), 0);
  if (programs >= 0) { EXPECT_EQ(test::occurrences(got.plan, "tile row_product"), programs) << got.plan; }
  test::expect_close_values(got, want, dtype);
}

TEST(RowProducts, AreProductsWhereverTheWeightLies) {
  manual_seed(11);
  const auto by_rows = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  const auto by_columns = [](const Tensors& x) { return Tensors{matmul(x[0], transpose(x[1]))}; };
  const auto strided = [](const Tensors& x) { return Tensors{matmul(slice(x[0], 1, {1, {}, 2}), slice(x[1], 1, {3, {}, 2}))}; };
  for (const DType dtype : test::kFloats) {
    for (const std::int64_t rows : {1, 2, 3, 4}) {
      expect_same(by_rows, {{rows, 131}, {131, 257}}, dtype, 1);
      expect_same(by_columns, {{rows, 131}, {257, 131}}, dtype, 1);
      expect_same(strided, {{rows, 131}, {65, 600}}, dtype, 1);
      expect_same(by_columns, {{rows, 20000}, {1, 20000}}, dtype, 1);
    }
    expect_same(by_rows, {{1, 128}, {128, 256}}, dtype, 1);
    expect_same(by_rows, {{2, 1}, {1, 20000}}, dtype, 1);
    expect_same(by_rows, {{3, 20000}, {20000, 1}}, dtype, 1);
    expect_same(by_rows, {{5, 131}, {131, 257}}, dtype, 0);  // the library's
  }
  expect_same(by_rows, {{1, 0}, {0, 70000}}, f32, 0);
  expect_same(by_rows, {{1, 40000}, {40000, 0}}, f32, 0);
}

/// More terms than an instance holds at once.
TEST(RowProducts, WalkOverManyTerms) {
  manual_seed(12);
  for (const DType dtype : test::kFloats) {
    for (const std::int64_t rows : {1, 3}) {
      expect_same([](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }, {{rows, 20011}, {20011, 9}}, dtype, 1);
      expect_same([](const Tensors& x) { return Tensors{matmul(x[0], transpose(x[1]))}; }, {{rows, 70001}, {5, 70001}}, dtype, 1);
    }
  }
}

TEST(RowProducts, TakeInWhatIsBehindThem) {
  manual_seed(13);
  const auto behind = [](const Tensors& x) {
    const Tensor y = gelu(linear(x[0], transpose(x[1]), x[2]), Approximate::Tanh);
    return Tensors{y + x[3]};
  };
  const auto added_twice = [](const Tensors& x) {
    const Tensor y = linear(x[0], transpose(x[1]), x[2]);  // is read twice
    return Tensors{y + x[3], relu(y) * 0.5};
  };
  const auto gated = [](const Tensors& x) { return Tensors{silu(matmul(x[0], x[1])) * matmul(x[0], x[1] * 0.7)}; };
  const auto by_heads = [](const Tensors& x) {
    const Tensor y = linear(x[0], transpose(x[1]), x[2]);
    return Tensors{reshape(y, {x[0].size(0), x[0].size(1), 7, 43}) * 2.0};
  };
  for (const DType dtype : test::kFloats) {
    for (const Shape& leading : {Shape{1, 1}, Shape{3, 1}, Shape{1, 4}}) {
      const Shape in{leading[0], leading[1], 127}, out{leading[0], leading[1], 301};
      expect_same(behind, {in, {127, 301}, {301}, out}, dtype, 1);
      expect_same(added_twice, {in, {127, 301}, {301}, out}, dtype, 1);
      expect_same(gated, {in, {127, 301}}, dtype, 2);
      expect_same(by_heads, {in, {127, 301}, {301}}, dtype, 1);
    }
  }
}

TEST(RowProducts, ComputeTheRowsBeforeThem) {
  manual_seed(14);
  const auto norm = [](const Tensors& x) { return layer_norm(x[0], {x[0].shape().back()}, {.weight = x[3], .bias = x[4]}); };
  const auto normed = [&](const Tensors& x) { return Tensors{linear(norm(x), transpose(x[1]), x[2])}; };
  const auto shared = [&](const Tensors& x) {
    const Tensor y = norm(x);
    return Tensors{relu(linear(y, transpose(x[1]), x[2])), matmul(y, x[1] * 0.7) + 1.0};
  };
  const auto given = [&](const Tensors& x) {  // a reader of the rows themselves gets them from a program of their own
    const Tensor y = norm(x);
    return Tensors{linear(y, transpose(x[1]), x[2]), y};
  };
  const auto block = [&](const Tensors& x) {
    const Tensor middle = x[0] + linear(norm(x), x[5], x[2]);
    return Tensors{middle + linear(rms_norm(middle, {middle.size(-1)}, {.weight = x[3]}), x[5])};
  };
  for (const DType dtype : test::kFloats) {
    for (const Shape& leading : {Shape{1, 1}, Shape{3, 1}, Shape{2, 2}}) {
      const Shape in{leading[0], leading[1], 127};
      const std::vector<Shape> shapes{in, {127, 301}, {301}, {127}, {127}};
      expect_same(normed, shapes, dtype, 1);
      expect_same(shared, shapes, dtype, 2);
      expect_same(given, shapes, dtype, 1);
      expect_same(block, {in, {1}, {127}, {127}, {127}, {127, 127}}, dtype, 0);  // too small
      expect_same(block, {{leading[0], leading[1], 255}, {1}, {255}, {255}, {255}, {255, 255}}, dtype, 2);
    }
  }
}

/// The program computes neither rows seen through another view nor sums across rows for each of its rows.
TEST(RowProducts, OtherRowsThanThoseBeforeThemAreRead) {
  manual_seed(17);
  const auto first_repeated = [](const Tensors& x) { return Tensors{matmul(expand(slice(tanh(x[0]), 0, {0, 1}), x[0].shape()), x[1])}; };
  const auto across = [](const Tensors& x) { return Tensors{matmul(x[0] * reshape(sum(x[0], {0}), {4, 1}), x[1])}; };
  for (const DType dtype : {f32, f64}) {
    expect_same(first_repeated, {{3, 128}, {128, 128}}, dtype, 1);
    expect_same(across, {{4, 4}, {4, 5000}}, dtype, 1);
  }
}

/// Products of whole numbers of eight bits with 1 and -1: nothing is rounded but the rows.
TEST(RowProducts, RowsAreRoundedAsTheyWouldBeStored) {
  constexpr std::int64_t kTerms = 128;
  const test::OnDevice here(test::QueuedDevice::create());
  const Tensor x = cast(reshape(arange(kTerms) * 37 % 122 + 128, {1, kTerms}), bf16);
  const Tensor at = expand_dims(arange(kTerms), 1), column = expand_dims(arange(kTerms), 0);
  const Tensor w = cast(where(at == column, 1.0, where(at == (column + 1) % kTerms, -1.0, 0.0)), bf16);
  eval(x, w);
  auto run = jit([](Tensor x, Tensor w) { return matmul(x * 1.0078125, w); });
  const auto got = run(x, w).to_host<double>(), rows = cast(cast(x, f64) * 1.0078125, bf16).to_host<double>();
  ASSERT_EQ(test::occurrences(run.print_plan(), "tile row_product"), 1) << run.print_plan();
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(got[i], rows[i] - rows[(i + 1) % rows.size()]) << i;
}

TEST(RowProducts, WhatIsCheckedBehindThemIsCheckedByWhoSaysSo) {
  const test::OnDevice here(test::QueuedDevice::create());
  const Tensor w = ones({128, 128});
  eval(w);
  auto run = jit([&](Tensor x) { return bincount(reshape(cast(matmul(x, w), i64), {128}), 10); });
  EXPECT_EQ(run(full({1, 128}, 3.0 / 128)).to_host<int>(), (std::vector<int>{0, 0, 0, 128, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(test::occurrences(run.print_plan(), "tile row_product"), 1) << run.print_plan();
  try {
    run(full({1, 128}, 12.0 / 128)).to_host();
    ADD_FAILURE() << "12 of 10";
  } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("got label 12"), std::string::npos) << error.what(); }
}

/// Programs are cut and generated for an H200, and run on emulated threads.
TEST(RowProducts, AreTheSameAsTextForAGpu) {
  manual_seed(16);
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [](const tile::Program& program) { return gpu::emulated_kernel(program); };
  device.preference = gpu::tiles_for({.architecture = 90, .multiprocessors = 132});
  const auto behind = [](const Tensors& x) {
    return Tensors{
        gelu(linear(layer_norm(x[0], {x[0].size(-1)}, {.weight = x[3], .bias = x[4]}), transpose(x[1]), x[2]), Approximate::Tanh)};
  };
  const auto by_columns = [](const Tensors& x) { return Tensors{linear(x[0], x[1], x[2]) + x[3]}; };
  const auto by_rows = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  expect_same(behind, {{1, 1, 768}, {768, 100}, {100}, {768}, {768}}, bf16, 1, device);
  expect_same(behind, {{2, 1, 501}, {501, 64}, {64}, {501}, {501}}, f32, 1, device);
  expect_same(by_columns, {{3, 1, 300}, {70, 300}, {70}, {3, 1, 70}}, f16, 1, device);
  expect_same(by_rows, {{1, 3072}, {3072, 40}}, bf16, 1, device);
  expect_same(by_rows, {{4, 9001}, {9001, 9}}, f32, 1, device);
}

TEST(RowProducts, LeaveGradientsAsTheyAre) {
  manual_seed(15);
  const auto gradients = [](const Tensors& x) {
    const Tensor y = gelu(linear(layer_norm(x[0], {127}, {.weight = x[3], .bias = x[4]}), transpose(x[1]), x[2]), Approximate::Tanh);
    return grad(sum(y * y), std::vector<Wrt>{x[0], x[1], x[2], x[3], x[4]});
  };
  for (const DType dtype : {f32, f64}) expect_same(gradients, {{3, 1, 127}, {127, 301}, {301}, {127}, {127}}, dtype, -1);
}

}  // namespace
}  // namespace tegula
