// Ops with several results: whichever of them are read, in whatever order and mode, they are the same values with the same gradients.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/graph/print.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/tegula.h"
#include "tests/support/reference.h"

namespace tegula {
namespace {

using tile::Value;

/// (x + 1, x * factor): the second one as a dtype of its own.
class PairOp final : public KernelOp {
 public:
  explicit PairOp(double factor) : factor_(factor) {}
  std::string_view name() const override { return "pair"; }
  void attributes(Attributes& a) override { a("factor", factor_); }
  void lower(KernelContext& context) const override {
    ++lowered;
    wanted = {context.wanted(0), context.wanted(1)};
    ops::RowKernel kernel(context, "pair", 1, numel(context.input(0).shape));
    tile::Builder& b = kernel.builder();
    const Value x = b.load(kernel.input(0) + kernel.column(), kernel.mask());
    if (context.wanted(0)) b.store(kernel.output(0) + kernel.column(), x + 1.0, kernel.mask());
    if (context.wanted(1)) {
      const Value scaled = x * kernel.real(factor_, context.input(0).dtype);
      b.store(kernel.output(1) + kernel.column(), tile::cast(scaled, tile::compute_type(context.output(1).dtype)), kernel.mask());
    }
    kernel.launch();
  }
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>&) const override {
    undefined += !dys[0].defined() + !dys[1].defined();
    const DType dtype = y.input(0).dtype();
    if (!dys[1].defined()) return {dys[0]};
    const Tensor second = graph::cast(dys[1], dtype) * factor_;
    return {dys[0].defined() ? dys[0] + second : second};
  }
  void references(std::span<const std::span<const double>> x, std::span<const Shape>,
                  std::span<const std::span<double>> ys) const override {
    for (std::size_t i = 0; i < x[0].size(); ++i) ys[0][i] = x[0][i] + 1, ys[1][i] = x[0][i] * factor_;
  }
  static inline int lowered = 0, undefined = 0;
  static inline std::vector<bool> wanted;

 private:
  double factor_;
};

std::vector<Tensor> pair_of(const Tensor& x, double factor = 3, DType second = f64) {
  const Result results[] = {{x.shape(), x.dtype()}, {x.shape(), second}};
  return make_nodes(make<const PairOp>(factor), std::span(&x, 1), results, Line::current());
}

using Doubles = std::vector<double>;
const Tensor& values() {
  static const Tensor x = tensor({1.0, 2.0, 3.0});
  return x;
}

TEST(Results, EverySubsetInEveryOrderAndMode) {
  for (const int mode : {0, 1, 2, 3}) {  // lazily, eagerly, with few pending nodes, jit-ed
    set_eager(mode == 1);
    if (mode == 2) set_pending_bound(3);
    for (const std::vector<int>& order : std::vector<std::vector<int>>{{0}, {1}, {0, 1}, {1, 0}, {1, 1, 0}}) {
      const auto read = [&](const std::vector<Tensor>& all) {
        for (const int k : order)
          EXPECT_EQ(all[static_cast<std::size_t>(k)].to_host<double>(), k == 0 ? Doubles({2, 3, 4}) : Doubles({3, 6, 9})) << mode;
      };
      auto jitted = jit([](Tensor x) { return pair_of(x); });
      for (int call = 0; call < 3; ++call) read(mode == 3 ? jitted(values()) : pair_of(values() * 1.0));
    }
    set_eager(false);
    set_pending_bound(100'000);
  }
}

TEST(Results, WhatNobodyReadsIsNotComputed) {
  auto second = jit([](Tensor x) { return pair_of(x, 5)[1]; });
  EXPECT_EQ(second(values()).to_host<double>(), Doubles({5, 10, 15}));
  EXPECT_EQ(PairOp::wanted, (std::vector<bool>{false, true}));
  const Tensor first = pair_of(values(), 6)[0];  // the other one is dropped at once
  EXPECT_EQ(first.to_host<double>(), Doubles({2, 3, 4}));
  EXPECT_EQ(PairOp::wanted, (std::vector<bool>{true, false}));
}

TEST(Results, ThoseThatAreHeldAreComputedTogether) {
  const auto both = pair_of(values(), 7);
  const int before = PairOp::lowered;
  both[1].to_host<double>();
  EXPECT_TRUE(both[0].node()->has_value());
  EXPECT_EQ(both[0].to_host<double>(), Doubles({2, 3, 4}));
  EXPECT_EQ(PairOp::lowered, before + 1);
}

TEST(Results, GradientsOfEverySubset) {
  const auto through = [](bool first, bool second) {
    return [=](const std::vector<Tensor>& in) {
      const auto y = pair_of(in[0]);
      const Tensor a = y[0] * y[0], b = y[1] * y[1] * y[1];
      return sum(first && second ? a * b : first ? a : b);
    };
  };
  check_gradients(through(true, false), {values()});
  check_gradients(through(false, true), {values()});
  check_gradients(through(true, true), {values()});
  PairOp::undefined = 0;
  const auto y = pair_of(values());
  EXPECT_EQ(grad(sum(y[1]), values()).to_host<double>(), Doubles(3, 3));
  EXPECT_EQ(PairOp::undefined, 1);  // not zeros
}

TEST(Results, AnIntegerFirstResultHidesNoGradient) {
  const Tensor x = tensor({5.0, 1.0, 3.0});
  const Tensor line = x * 1.0;
  const Result results[] = {{x.shape(), i64}, {x.shape(), f64}};
  class Swapped final : public KernelOp {
   public:
    std::string_view name() const override { return "swapped"; }
    void lower(KernelContext& context) const override {
      ops::RowKernel kernel(context, "swapped", 1, 3);
      tile::Builder& b = kernel.builder();
      const Value v = b.load(kernel.input(0) + kernel.column(), kernel.mask());
      if (context.wanted(0)) b.store(kernel.output(0) + kernel.column(), tile::cast(v, i64), kernel.mask());
      if (context.wanted(1)) b.store(kernel.output(1) + kernel.column(), v * 2.0, kernel.mask());
      kernel.launch();
    }
    std::vector<Tensor> gradients(const Node&, std::span<const Tensor> dys, const std::vector<bool>&) const override {
      return {dys[1] * 2.0};
    }
  };
  const auto y = make_nodes(make<const Swapped>(), std::span(&line, 1), results, Line::current());
  EXPECT_EQ(grad(sum(y[1] * y[1]), x).to_host<double>(), Doubles({40, 8, 24}));
  EXPECT_EQ(y[0].to_host<std::int64_t>(), (std::vector<std::int64_t>{5, 1, 3}));
}

TEST(Results, OpsThatDifferInTheSecondResultAreTwoPrograms) {
  const Tensor x = values() * 0.5;
  const Tensor exact = pair_of(x, 3, f64)[1], narrow = pair_of(x, 3, f16)[1], other = pair_of(x, 4, f64)[1];
  EXPECT_EQ(exact.to_host<double>(), Doubles({1.5, 3, 4.5}));
  EXPECT_EQ(narrow.dtype(), f16);
  EXPECT_EQ(cast(narrow, f64).to_host<double>(), Doubles({1.5, 3, 4.5}));
  EXPECT_EQ(other.to_host<double>(), Doubles({2, 4, 6}));
  EXPECT_EQ((cast(pair_of(x, 3, f16)[1], f64) + pair_of(x, 3, f64)[1]).to_host<double>(), Doubles({3, 6, 9}));
}

TEST(Results, GradientAfterALookAndWithinACheckpoint) {
  const Tensor x = tensor({3.0, 1.0, 2.0}), weight = tensor({1.0, 10.0, 100.0});
  const auto f = [&](const std::vector<Tensor>& in) {
    const Sorted sorted = sort(in[0] * in[0]);
    return sum(sorted.values * weight + cast(sorted.indices, f64));
  };
  const Doubles want{600, 2, 40};
  const Tensor loss = f({x});
  EXPECT_EQ(loss.item<double>(), 944);
  EXPECT_EQ(grad(loss, x).to_host<double>(), want);
  EXPECT_EQ(grad(checkpoint(f, {x}), x).to_host<double>(), want);
  auto step = jit([&](Tensor in) { return grad(checkpoint(f, {in}), in); });
  for (int call = 0; call < 3; ++call) EXPECT_EQ(step(x).to_host<double>(), want);
}

TEST(Results, APartThatIsDroppedCanBeAskedForAgain) {
  Tensor values;
  const Tensor x = tensor({3.0, 1.0, 2.0});
  {
    const Sorted sorted = sort(x);
    values = sorted.values;
  }
  EXPECT_EQ(values.to_host<double>(), Doubles({1, 2, 3}));  // the positions were not computed: no tensor held them
  EXPECT_EQ(grad(sum(values * tensor({1.0, 10.0, 100.0})), x).to_host<double>(), Doubles({100, 1, 10}));
}

TEST(Results, CapturedByAJitAreEvaluatedBeforeIt) {
  const Tensor x = tensor({3.0, 1.0, 2.0});
  const auto pending = pair_of(x);
  auto f = jit([&](Tensor y) { return pending[1] + y + grad(sum(pending[1] * y), y); });
  for (int call = 0; call < 2; ++call) EXPECT_EQ(f(x).to_host<double>(), Doubles({21, 7, 14}));
}

TEST(Results, ReferenceAndPrinting) {
  const Tensor x = tensor({3.0, 1.0, 2.0}), y = x * 1.0;
  const auto both = pair_of(y);
  EXPECT_EQ(reference_of(both[1] - both[0]), Doubles({5, 1, 3}));
  const Tensor outputs[] = {both[1]};
  EXPECT_NE(to_dot(outputs).find("(3,) f64, (3,) f64"), std::string::npos) << to_dot(outputs);
}

}  // namespace
}  // namespace tegula
