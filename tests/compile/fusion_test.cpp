// What fusion promises: whole chains, row reductions with what surrounds them, and updates are single programs.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/activation.h"
#include "tegula/ops/arithmetic.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/loss.h"
#include "tegula/ops/math.h"
#include "tegula/ops/matmul.h"
#include "tegula/ops/normalization.h"
#include "tegula/ops/random.h"
#include "tegula/ops/reduce.h"
#include "tegula/ops/shape.h"
#include "tegula/ops/softmax.h"

namespace tegula {
namespace {

int steps(const std::string& plan) {
  int lines = 0;
  for (std::size_t at = plan.find('\n'); at != std::string::npos; at = plan.find('\n', at + 1)) ++lines;
  return lines - 1;  // the last line is the arena's
}

template <class F, class... Args>
int steps_of(F f, const Args&... args) {
  auto jitted = jit(f);
  jitted(args...);
  return steps(jitted.print_plan());
}

TEST(Fusion, AChainOfElementwiseOpsIsOneProgram) {
  Tensor x = uniform({1000});
  EXPECT_EQ(steps_of([](Tensor x) { return tanh(sqrt(abs(x * 1.1 + 0.3)) * x - 0.5) * 2.0 + x; }, x), 1);
}

TEST(Fusion, SoftmaxIsOneProgram) {
  for (const Shape& shape : {Shape{64, 1000}, Shape{4096, 16}, Shape{40, 20000}}) {
    Tensor x = normal(shape);
    EXPECT_EQ(steps_of([](Tensor x) { return softmax(x, -1); }, x), 1) << to_string(shape);
  }
}

TEST(Fusion, LayerNormIsOneProgram) {
  Tensor x = normal({256, 96});
  EXPECT_EQ(steps_of([](Tensor x) { return layer_norm(x, {96}); }, x), 1);
}

TEST(Fusion, CrossEntropyWithItsGradientReadsTheLogitsOnce) {
  Tensor x = normal({256, 100}), y = randint(0, 100, {256});
  eval(x, y);
  auto both = jit([](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(x, y);
    return std::pair(loss, grad(loss, x));
  });
  both(x, y);
  const std::string plan = both.print_plan();
  int readers = 0;
  for (std::size_t at = plan.find("=leaf#"); at != std::string::npos; at = plan.find("=leaf#", at + 1)) ++readers;
  EXPECT_LE(steps(plan), 3) << plan;
  EXPECT_LE(readers, 3) << plan;
}

TEST(Fusion, TheUpdatesOfAllParametersAreOneLaunch) {
  std::vector<Variable> w, m;
  for (const std::int64_t n : {100, 5000, 17, 640}) {
    w.emplace_back(normal({n}));
    m.emplace_back(zeros({n}));
  }
  auto step = jit([&](Tensor lr) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = m[i] * 0.9 + w[i] * 0.1;
      w[i] = w[i] - lr * m[i];
    }
  });
  step(0.1f);
  const std::string plan = step.print_plan();
  EXPECT_EQ(steps(plan), 1) << plan;
  EXPECT_NE(plan.find(" x4"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("copied at the end"), std::string::npos) << "Variables are written in place\n" << plan;
}

TEST(Fusion, BiasAndActivationGoIntoTheMatmul) {
  Tensor x = normal({32, 64}), w = normal({64, 16}), b = normal({16});
  EXPECT_EQ(steps_of([](Tensor x, Tensor w, Tensor b) { return relu(matmul(x, w) + b); }, x, w, b), 1);
}

// A reduction that has few results is split over many instances; the second program combines the parts.
TEST(Fusion, ALongReductionIsSplit) {
  Tensor x = normal({1 << 20});
  auto total = jit([](Tensor x) { return sum(x * x); });
  const double got = total(x).item<double>();
  EXPECT_EQ(steps(total.print_plan()), 2) << total.print_plan();
  double want = 0;
  for (const double v : x.to_host<double>()) want += v * v;
  EXPECT_NEAR(got, want, 1e-5 * want);
}

TEST(Fusion, ReductionsOverEveryCombinationOfAxesAreRight) {
  const Shape shape{5, 33, 4, 70};
  Tensor x = normal(shape);
  const auto values = x.to_host<double>();
  for (int mask = 1; mask < 16; ++mask) {
    Dims axes;
    for (int i = 0; i < 4; ++i) {
      if (mask >> i & 1) axes.push_back(i);
    }
    const auto got = sum(exp(x) * 0.5, Axes(axes)).to_host<double>();
    std::vector<double> want(got.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
      std::size_t rest = n, index = 0, scale = 1;
      for (int i = 3; i >= 0; --i) {
        const auto size = static_cast<std::size_t>(shape[i]);
        if (!(mask >> i & 1)) {
          index += rest % size * scale;
          scale *= size;
        }
        rest /= size;
      }
      want[index] += std::exp(values[n]) * 0.5;
    }
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 2e-5 * std::abs(want[i])) << "axes mask " << mask << " at " << i;
  }
}

TEST(Fusion, ViewsInsideAGroupKeepTheirMeaning) {
  Tensor x = normal({7, 5}), y = normal({5, 7});
  eval(x, y);
  const auto a = x.to_host<double>(), b = y.to_host<double>();
  const auto got = (exp(x) + transpose(exp(y) * 2.0, 0, 1)).to_host<double>();
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_NEAR(got[i * 5 + j], std::exp(a[i * 5 + j]) + 2 * std::exp(b[j * 7 + i]), 1e-5 * 40);
  }
  // A value and its own transpose in one expression.
  Tensor s = normal({6, 6});
  const auto c = s.to_host<double>();
  Tensor e = s * 2.0;
  const auto sym = (e + transpose(e, 0, 1)).to_host<double>();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) EXPECT_NEAR(sym[i * 6 + j], 2 * (c[i * 6 + j] + c[j * 6 + i]), 1e-5);
  }
}

}  // namespace
}  // namespace tegula
