// A sum of many products is one product of joined operands: a loop that was written out by hand costs as much a step however many steps it has.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <tuple>

#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/on_device.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_close;

using Tensors = std::vector<Tensor>;
/// A function of x (T, K, M) and y (T, K, N).
using Function = std::function<Tensors(const Tensor& x, const Tensor& y)>;

void expect_all_close(const Tensors& got, const Tensors& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], want[i], tolerance, "result " + std::to_string(i));
}

struct Found {
  int products, tiles;  // steps of the plan
};

/// Checks that f under jit gives the same as op after op, to the bit from run to run, on the device of the tests. Returns the contents of its plan on the CPU: a GPU fuses small
/// products with the ops around them.
Found plan_of(const Function& f, std::int64_t steps, std::int64_t m = 24, std::int64_t n = 20, std::int64_t k = 3, DType dtype = f64) {
  const Tensor x = drawn({steps, k, m}, dtype), y = drawn({steps, k, n}, dtype);
  set_eager(true);
  const Tensors want = f(x, y);
  set_eager(false);
  auto together = jit(f);
  const Tensors got = together(x, y), again = together(x, y);
  expect_all_close(got, want, dtype == f64 ? 1e-12 : 1e-4);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host<double>(), again[i].to_host<double>()) << "result " << i;
  const test::OnDevice here(cpu());
  auto counted = jit(f);
  counted(drawn({steps, k, m}, dtype), drawn({steps, k, n}, dtype));
  const std::string plan = counted.print_plan();
  return {test::occurrences(plan, ". call matmul"), test::occurrences(plan, ". tile ")};
}

/// Σ f(x_t, y_t), added one after another.
Tensor added(const Tensor& x, const Tensor& y, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  Tensor sum;
  for (std::int64_t t = 0; t < x.size(0); ++t) {
    const Tensor one = f(select(x, 0, t), select(y, 0, t));
    sum = sum.defined() ? sum + one : one;
  }
  return sum;
}

TEST(JoinProducts, ASumOfProductsIsOneProduct) {
  const Function f = [](const Tensor& x, const Tensor& y) {
    return Tensors{added(x, y, [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); })};
  };
  for (const std::int64_t steps : {8, 9, 130, 300}) {
    for (const DType dtype : {f64, f32}) {
      const Found found = plan_of(f, steps, 24, 20, 3, dtype);
      EXPECT_EQ(found.products, 1) << steps;
      EXPECT_EQ(found.tiles, 0) << "slices of one tensor are that tensor";
    }
  }
}

TEST(JoinProducts, OperandsMayLieAsTheyDo) {
  const auto products = [](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    return plan_of([&](const Tensor& x, const Tensor& y) { return Tensors{added(x, y, f)}; }, 12).products;
  };
  EXPECT_EQ(products([](const Tensor& a, const Tensor& b) { return matmul(transpose(exp(a)), tanh(b)); }), 1);
  EXPECT_EQ(products([](const Tensor& a, const Tensor& b) { return matmul(reshape(exp(a), {24, 3}), b); }), 1);
  EXPECT_EQ(products([](const Tensor& a, const Tensor& b) { return transpose(matmul(transpose(b), exp(a))); }), 1);
  EXPECT_EQ(products([](const Tensor& a, const Tensor& b) { return reshape(matmul(transpose(a), sin(b)), {4, 120}); }), 1);
  EXPECT_EQ(products([](const Tensor& a, const Tensor& b) { return matmul(reshape(a, {24, 3}), transpose(reshape(tanh(b), {20, 3}))); }),
            1);
}

TEST(JoinProducts, OtherTermsStay) {
  const Found found = plan_of(
      [](const Tensor& x, const Tensor& y) {
        const Tensor products = added(x, y, [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); });
        return Tensors{exp(select(select(y, 0, 0), 0, 0)) + products * 2.0, products + 1.0};
      },
      10);
  EXPECT_EQ(found.products, 1);
  plan_of(
      [](const Tensor& x, const Tensor& y) {
        Tensor sum = ones({24, 20}, x.dtype());
        for (std::int64_t t = 0; t < x.size(0); ++t) {
          sum = sum + matmul(transpose(select(x, 0, t)), select(y, 0, t));
          if (t % 4 == 1) sum = sum + exp(matmul(transpose(select(x, 0, t)), tanh(select(y, 0, t))) * 0.1);
        }
        return Tensors{sum};
      },
      16);
}

TEST(JoinProducts, WhatOthersReadAndWhatHasOneFactorStays) {
  const auto products = [](const Function& f) { return plan_of(f, 9).products; };
  EXPECT_EQ(products([](const Tensor& x, const Tensor& y) {  // each sum on the way is a result
              Tensors sums;
              Tensor sum;
              for (std::int64_t t = 0; t < x.size(0); ++t) {
                const Tensor one = matmul(transpose(select(x, 0, t)), select(y, 0, t));
                sums.push_back(sum = sum.defined() ? sum + one : one);
              }
              return sums;
            }),
            9);
  EXPECT_EQ(products([](const Tensor& x, const Tensor& y) {
              return Tensors{added(x, y, [&](const Tensor& a, const Tensor&) { return matmul(transpose(a), select(y, 0, 0)); })};
            }),
            9);
}

TEST(JoinProducts, LongProductsStay) {
  const Function f = [](const Tensor& x, const Tensor& y) {
    return Tensors{added(x, y, [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); })};
  };
  EXPECT_EQ(plan_of(f, 8, 4, 5, 40).products, 8) << "their operands are larger than what they give";
}

enum class Written : std::uint8_t { ByHand, AsScan };

/// An LSTM of T steps, x (T, N, F).
struct Lstm {
  std::int64_t features, hidden;
  Tensor in = drawn({4 * hidden, features}, f64, 0.3), recurrent = drawn({4 * hidden, hidden}, f64, 0.3), bias = drawn({4 * hidden}, f64);

  std::pair<Tensor, Tensor> step(const Tensor& x, const Tensor& h, const Tensor& c) const {
    const auto z = chunk(linear(x, in) + linear(h, recurrent) + bias, 4, 1);
    const Tensor next = sigmoid(z[1]) * c + sigmoid(z[0]) * tanh(z[2]);
    return {sigmoid(z[3]) * tanh(next), next};
  }
  Tensor last(const Tensor& x, Written written) const {
    Tensor h = zeros({x.size(1), hidden}, x.dtype()), c = h;
    if (written == Written::AsScan) {
      const ScanBody body = [&](const Tensors& carry, const Tensors& now) {
        const auto [next, memory] = step(now[0], carry[0], carry[1]);
        return Scanned{{next, memory}, {}};
      };
      return scan(body, {h, c}, {x}).carry[0];
    }
    for (std::int64_t t = 0; t < x.size(0); ++t) std::tie(h, c) = step(select(x, 0, t), h, c);
    return h;
  }
  /// The gradients of Σ h² of the last state by the weights, then by x.
  Tensors gradients(const Tensor& x, Written written) const {
    const Tensor h = last(x, written);
    return grad(sum(h * h), {in, recurrent, bias, x});
  }
};

TEST(JoinProducts, ALoopByHandGivesWhatScanGives) {
  const Lstm net{5, 6};
  for (const std::int64_t steps : {8, 40}) {
    const Tensor x = drawn({steps, 2, 5}, f64);
    auto by_hand = jit([&](Tensor x) { return net.gradients(x, Written::ByHand); });
    auto scanned = jit([&](Tensor x) { return net.gradients(x, Written::AsScan); });
    expect_all_close(by_hand(x), scanned(x), 1e-11);
    expect_all_close(net.gradients(x, Written::ByHand), by_hand(x), 1e-12);
    set_eager(true);
    const Tensors op_after_op = net.gradients(x, Written::ByHand);
    set_eager(false);
    expect_all_close(by_hand(x), op_after_op, 1e-11);
  }
}

TEST(JoinProducts, AStepByHandIsThreeProductsHoweverManyThereAre) {
  const test::OnDevice here(cpu());
  const Lstm net{5, 6};
  const auto products = [&](std::int64_t steps) {
    auto f = jit([&](Tensor x) {
      Tensors all = net.gradients(x, Written::ByHand);
      all.pop_back();
      return all;
    });
    f(drawn({steps, 2, 5}, f64));
    return test::occurrences(f.print_plan(), ". call matmul");
  };
  const int of_16 = products(16);
  EXPECT_EQ(products(40) - of_16, 24 * 3) << "two forward, one backward";
  EXPECT_EQ(of_16, 16 * 3 - 1 + 2) << "the first state has no gradient; two weights";
}

TEST(JoinProducts, ABiasIsSummedOverAllStepsAtOnce) {
  const Lstm net{5, 6};
  auto f = jit([&](Tensor x) { return net.gradients(x, Written::ByHand)[2]; });
  auto all = jit([&](Tensor x) { return net.gradients(x, Written::ByHand); });
  const Tensor x = drawn({64, 2, 5}, f64);
  expect_all_close({f(x)}, {all(x)[2]}, 1e-12);
  if (&default_device() != &cpu()) return;
  EXPECT_EQ(test::occurrences(all.print_plan(), "sum_sum"), 0) << "one sum over the rows of the join";
}

TEST(JoinProducts, GradientsOfGradients) {
  const Lstm net{3, 4};
  const auto second = [&](const Tensor& x, Written written) {
    const Tensor first = net.gradients(x, written)[0];
    return grad(sum(first * first), {x, net.in, net.recurrent});
  };
  const Tensor x = drawn({9, 2, 3}, f64);
  auto by_hand = jit([&](Tensor x) { return second(x, Written::ByHand); });
  auto scanned = jit([&](Tensor x) { return second(x, Written::AsScan); });
  expect_all_close(by_hand(x), scanned(x), 1e-10);
}

TEST(JoinProducts, HalvesAreSummedInF32) {
  const PrecisionScope precision(Precision::bf16);
  constexpr std::int64_t kSteps = 256;
  const Tensor x = ones({kSteps, 1, 16}), y = ones({kSteps, 1, 16});
  auto f = jit([](Tensor x, Tensor y) { return added(x, y, [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); }); });
  for (const double value : f(x, y).to_host<double>()) ASSERT_EQ(value, 256.0);
}

}  // namespace
}  // namespace tegula
