// Promises of fusion: whole chains, row reductions with the ops around them, and updates are single programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/occurrences.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

int steps(const std::string& plan) { return test::occurrences(plan, "\n") - 1; }  // the last line is the arena's

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
  EXPECT_LE(steps(plan), 3) << plan;
  EXPECT_LE(test::occurrences(plan, "=leaf#"), 3) << plan;
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
  EXPECT_EQ(plan.find("tile keep"), std::string::npos) << "Variables are written in place\n" << plan;
}

TEST(Fusion, BiasAndActivationGoIntoTheMatmul) {
  // Large enough that every device has the product as a call.
  Tensor x = normal({256, 512}), w = normal({512, 256}), b = normal({256});
  EXPECT_EQ(steps_of([](Tensor x, Tensor w, Tensor b) { return relu(matmul(x, w) + b); }, x, w, b), 1);
  const Tensor rows = reshape(x, {4, 64, 512});  // the product is of matrices, the activation behind a view of it
  const auto layer = [](Tensor x, Tensor w, Tensor b) { return relu(linear(x, transpose(w), b)); };
  EXPECT_EQ(steps_of(layer, rows, w, b), 1);
  EXPECT_EQ(layer(rows, w, b).to_host(), layer(x, w, b).to_host());
}

// Programs beside copies to and from the order of memory that the device has images in.
TEST(Fusion, BiasAndReluGoIntoTheConvolution) {
  // Large enough that every device has it as a call.
  const Tensor x = normal({8, 16, 32, 32}), w = normal({32, 16, 3, 3}), b = normal({32}), apart = normal({32, 1, 1});
  const auto programs = [&](auto f, const Tensor& bias) {
    auto jitted = jit(f);
    jitted(x, w, bias);
    const std::string plan = jitted.print_plan();
    return test::occurrences(plan, ". tile ") - test::occurrences(plan, ". tile copy");
  };
  EXPECT_EQ(programs([](Tensor x, Tensor w, Tensor b) { return relu(conv2d(x, w, b)); }, b), 0);
  EXPECT_EQ(programs([](Tensor x, Tensor w, Tensor b) { return relu(conv2d(x, w) + reshape(b, {32, 1, 1})); }, b), 0);
  EXPECT_EQ(programs([](Tensor x, Tensor w, Tensor b) { return relu(conv2d(x, w) + b); }, apart), 1) << "no vector";
  EXPECT_EQ(programs([](Tensor x, Tensor w, Tensor b) { return hardswish(conv2d(x, w, b)); }, b), 1) << "no epilogue of ours yet";
}

// No product has limits in its epilogue: they are computed behind it, with the numbers of the run.
TEST(Fusion, LimitsBehindAProductAreComputedInFunctionsThatOnlyAnswer) {
  const Tensor x = normal({256, 512}), w = normal({512, 256});
  eval(x, w);
  auto answer = jit([](Tensor x, Tensor w) { return clamp(matmul(x, w), -0.5, 0.25); });
  const std::vector<float> product = matmul(x, w).to_host<float>(), got = answer(x, w).to_host<float>();
  ASSERT_EQ(got.size(), product.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], std::clamp(product[i], -0.5F, 0.25F), 1e-4F) << i;
}

TEST(Fusion, CastsOfLeavesAreOneLaunchAheadOfTheProductsThatTakeThem) {
  const test::OnDevice here(test::QueuedDevice::create());
  const Tensor x = normal({32, 64}), a = normal({64, 64}), b = normal({64, 64}), c = normal({64, 64});
  eval(x, a, b, c);
  auto net = jit([](Tensor x, Tensor a, Tensor b, Tensor c) {
    const PrecisionScope scope(Precision::bf16);
    return matmul(relu(matmul(relu(matmul(x, a)), b)), c);
  });
  net(x, a, b, c);
  const std::string plan = net.print_plan();
  const std::size_t casts = plan.find("tile cast x4:");
  EXPECT_NE(casts, std::string::npos) << plan;
  EXPECT_LT(casts, plan.find("call matmul")) << plan;
}

/// A norm of one row, whose weights are views of theirs that repeat nothing.
TEST(Fusion, WeightsInHalfAreWidenedWhereTheyAreRead) {
  const test::OnDevice here(test::QueuedDevice::create());
  const Variable weight(normal({96}, 0, 1, {.dtype = bf16})), bias(normal({96}, 0, 1, {.dtype = bf16}));
  auto norm = jit([&](Tensor x) { return layer_norm(x, {96}, {.weight = weight.read(), .bias = bias.read()}); });
  norm(normal({1, 1, 96}, 0, 1, {.dtype = bf16}));
  EXPECT_EQ(steps(norm.print_plan()), 1) << norm.print_plan();
}

/// A normalisation with all of its gradients, and the same written out over f64.
struct Normalised {
  std::vector<double> dx, dweight, dbias;
};
Normalised layer_norm_backward(const std::vector<double>& x, const std::vector<double>& dy, const std::vector<double>& w, double eps) {
  const std::size_t n = w.size();
  Normalised out{std::vector<double>(x.size()), std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t row = 0; row < x.size(); row += n) {
    double mean = 0, square = 0, g = 0, gy = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) square += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(n);
    const double r = 1 / std::sqrt(square + eps);
    for (std::size_t i = 0; i < n; ++i) {
      const double y = (x[row + i] - mean) * r, d = dy[row + i] * w[i];
      g += d / static_cast<double>(n), gy += d * y / static_cast<double>(n);
      out.dweight[i] += dy[row + i] * y, out.dbias[i] += dy[row + i];
    }
    for (std::size_t i = 0; i < n; ++i) out.dx[row + i] = r * (dy[row + i] * w[i] - g - (x[row + i] - mean) * r * gy);
  }
  return out;
}

// The gradients of weight and bias go with that of the input: x and dy are read once. The second program adds up their parts.
TEST(Fusion, ANormsGradientsAreOneProgramOverTheRows) {
  for (const Shape& shape :
       {Shape{300, 96}, Shape{1, 5}, Shape{7, 33}, Shape{2000, 768}, Shape{1100, 256}, Shape{3, 4100}, Shape{5, 40, 12}}) {
    const std::int64_t n = shape[shape.rank() - 1];
    Tensor x = normal(shape), dy = normal(shape), w = normal({n}), b = normal({n});
    eval(x, dy, w, b);
    auto backward =
        jit([&](Tensor x, Tensor dy, Tensor w, Tensor b) { return vjp({layer_norm(x, {n}, {.weight = w, .bias = b})}, {dy}, {x, w, b}); });
    const auto got = backward(x, dy, w, b);
    EXPECT_LE(steps(backward.print_plan()), numel(shape) < 1024 ? 3 : 2) << to_string(shape) << "\n" << backward.print_plan();
    const Normalised want = layer_norm_backward(x.to_host<double>(), dy.to_host<double>(), w.to_host<double>(), 1e-5);
    const auto near = [&](const Tensor& tensor, const std::vector<double>& expected, double tolerance) {
      const auto values = tensor.to_host<double>();
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance) << to_string(shape) << " " << i;
    };
    const double rows = static_cast<double>(numel(shape)) / static_cast<double>(n);
    near(got[0], want.dx, 2e-4);
    near(got[1], want.dweight, 1e-5 * std::sqrt(rows) + 1e-4);
    near(got[2], want.dbias, 1e-5 * std::sqrt(rows) + 1e-4);
  }
}

// Two sums of one value over different axes; a vector that differs along a part of a row cannot be carried along.
TEST(Fusion, SumsAlongAndAcrossRowsAreRight) {
  Tensor x = normal({50, 6, 20}), part = normal({6, 1});
  eval(x, part);
  auto sums = jit([](Tensor x, Tensor part) {
    Tensor y = x * part;
    return std::vector<Tensor>{sum(y, {1, 2}), sum(y, {0}), y - sum(y, {1, 2}, Keep::Yes)};
  });
  const auto got = sums(x, part);
  const auto values = x.to_host<double>(), parts = part.to_host<double>();
  std::vector<double> along(50), across(120);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = values[i] * parts[i / 20 % 6];
    along[i / 120] += y, across[i % 120] += y;
  }
  const auto a = got[0].to_host<double>(), b = got[1].to_host<double>(), c = got[2].to_host<double>();
  for (std::size_t i = 0; i < along.size(); ++i) EXPECT_NEAR(a[i], along[i], 1e-4);
  for (std::size_t i = 0; i < across.size(); ++i) EXPECT_NEAR(b[i], across[i], 1e-4);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(c[i], values[i] * parts[i / 20 % 6] - along[i / 120], 1e-4);
}

// y stays in memory for the product; relu's derivative, which the sums for scale and shift need beside x, asks for y > 0.
TEST(Fusion, ADerivativeReadsWhatTheValueIsMadeOf) {
  Tensor x = normal({512, 96}), scale = normal({96}), shift = normal({96}), w = normal({96, 80});
  eval(x, scale, shift, w);
  const auto gradients = [](Tensor x, Tensor scale, Tensor shift, Tensor w) {
    Tensor loss = sum(square(matmul(relu(x * scale + shift), w)));
    return grad(loss, {scale, shift});
  };
  auto jitted = jit([&](Tensor x, Tensor scale, Tensor shift, Tensor w) {
    const auto g = gradients(x, scale, shift, w);
    return std::pair(g[0], g[1]);
  });
  const auto [to_scale, to_shift] = jitted(x, scale, shift, w);
  const std::string plan = jitted.print_plan();
  const std::size_t made = plan.find("multiply_add_relu:");
  ASSERT_NE(made, std::string::npos) << plan;
  const std::size_t name = plan.find("-> %", made) + 3;
  const std::string y = plan.substr(name, plan.find('@', name) - name) + "@";
  std::istringstream lines(plan.substr(name + y.size()));
  int calls = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(y) == std::string::npos) continue;
    EXPECT_NE(line.find("call matmul"), std::string::npos) << plan;
    ++calls;
  }
  EXPECT_EQ(calls, 1) << plan;

  const auto values = [](const Tensor& t) { return t.to_host<float>(); };
  const std::vector<float> xs = values(x), a = values(scale), b = values(shift), ws = values(w), got_scale = values(to_scale),
                           got_shift = values(to_shift);
  std::vector<double> want_scale(96), want_shift(96);
  for (std::size_t n = 0; n < 512; ++n) {
    std::vector<double> y_row(96), out(80);
    for (std::size_t i = 0; i < 96; ++i) y_row[i] = std::max(0.0, static_cast<double>(xs[n * 96 + i] * a[i] + b[i]));
    for (std::size_t i = 0; i < 96; ++i) {
      for (std::size_t j = 0; j < 80; ++j) out[j] += y_row[i] * ws[i * 80 + j];
    }
    for (std::size_t i = 0; i < 96; ++i) {
      if (y_row[i] <= 0) continue;
      double dy = 0;
      for (std::size_t j = 0; j < 80; ++j) dy += 2 * out[j] * ws[i * 80 + j];
      want_shift[i] += dy, want_scale[i] += dy * xs[n * 96 + i];
    }
  }
  for (std::size_t i = 0; i < 96; ++i) {
    EXPECT_NEAR(got_scale[i], want_scale[i], 1e-3 * (10 + std::abs(want_scale[i]))) << i;
    EXPECT_NEAR(got_shift[i], want_shift[i], 1e-3 * (10 + std::abs(want_shift[i]))) << i;
  }
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

/// 2b is stored before the sum of its rows is known, a is read after it: 2b must not take the place of a.
TEST(Fusion, AStoreDoesNotOvertakeALaterRead) {
  auto f = jit([](Tensor x, Tensor w, Tensor b) {
    Tensor a = matmul(x, w), twice = b * 2.0;
    Tensor y = a + sum(twice, 1, Keep::Yes);
    return std::pair(matmul(twice, w), y);
  });
  for (const std::int64_t n : {16, 96}) {
    Tensor x = normal({n, n}), w = normal({n, n}), b = normal({n, n});
    const auto [product, y] = f(x, w, b);
    const auto got = y.to_host<float>(), a = matmul(x, w).to_host<float>(), sums = sum(b * 2.0, 1).to_host<float>();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], a[i] + sums[i / static_cast<std::size_t>(n)], 1e-3) << i;
  }
}

// A data set's rows are gathered by indices computed from a position: the gathering kernel computes them.
TEST(Fusion, AnIndexIsComputedWhereItIsRead) {
  Tensor rows = reshape(arange(70), {10, 7}), labels = arange(10) * 3;
  eval(rows, labels);
  Variable position(Tensor(8));
  auto batch = jit([&](Tensor shift) {
    Tensor at = remainder(position.read() + arange(4) * 2 + shift, 10);
    return std::vector{take(rows, at, 0), take(labels, at, 0), gather(transpose(rows, 0, 1), 1, expand(reshape(at, {1, 4}), {7, 4}))};
  });
  for (const int shift : {0, 3}) {
    const auto got = batch(Tensor(shift));
    const auto picked = got[0].to_host<std::int64_t>(), label = got[1].to_host<std::int64_t>(), across = got[2].to_host<std::int64_t>();
    for (int i = 0; i < 4; ++i) {
      const int row = (8 + 2 * i + shift) % 10;
      EXPECT_EQ(label[static_cast<std::size_t>(i)], row * 3);
      for (int j = 0; j < 7; ++j) {
        EXPECT_EQ(picked[static_cast<std::size_t>(i * 7 + j)], row * 7 + j);
        EXPECT_EQ(across[static_cast<std::size_t>(j * 4 + i)], row * 7 + j);
      }
    }
  }

  auto pick = jit([&](Tensor first) { return take(rows, first + arange(4), 0); });
  EXPECT_EQ(pick(Tensor(6)).to_host<std::int64_t>()[0], 42);
  EXPECT_EQ(steps(pick.print_plan()), 1) << pick.print_plan();
  EXPECT_THROW(pick(Tensor(7)).to_host<std::int64_t>(), Error);

  auto one = jit([&](Tensor first) { return take(rows, first + arange(1), 0); });  // a decoder's place
  EXPECT_EQ(one(Tensor(6)).to_host<std::int64_t>()[0], 42);
  EXPECT_EQ(steps(one.print_plan()), 1) << one.print_plan();

  // Places that begin further on, and not one after the other.
  auto some = jit([&](Tensor first) { return take(labels, first + slice(arange(20), 0, {3, 9, 2}), 0); });
  EXPECT_EQ(some(Tensor(1)).to_host<std::int64_t>(), (std::vector<std::int64_t>{12, 18, 24}));
  EXPECT_EQ(steps(some.print_plan()), 1) << some.print_plan();
}

TEST(Dot, PlansAndTileProgramsAreGraphs) {
  auto f = jit([](Tensor x, Tensor w) { return softmax(matmul(x, w), 1); });
  f(ones({64, 256}), ones({256, 96}));  // large enough for a library on every device
  const std::string plan = f.plan_dot(), programs = f.tile_dot();
  EXPECT_TRUE(plan.starts_with("digraph plan {")) << plan;
  EXPECT_NE(plan.find("s0 -> s1;"), std::string::npos) << plan;
  EXPECT_NE(plan.find("matmul"), std::string::npos) << plan;
  EXPECT_NE(programs.find("store"), std::string::npos) << programs;
  EXPECT_NE(programs.find(" -> "), std::string::npos) << programs;
  EXPECT_EQ(std::ranges::count(programs, '{'), std::ranges::count(programs, '}'));
}

// For weights stored as (in, out): a product and its transpose become one product with that layout.
TEST(Fusion, TheGradientOfATransposedWeightIsOneProduct) {
  const Tensor x = normal({256, 256}), w = normal({256, 96}), c = normal({256, 96});  // more than devices make sums of
  eval(x, w, c);
  auto f = jit([](const Tensor& x, const Tensor& w, const Tensor& c) { return flatten(grad(sum(linear(x, transpose(w)) * c), w)) * 1.5f; });
  f(x, w, c);
  const Tensor got = f(x, w, c), expected = flatten(matmul(transpose(x), c)) * 1.5f;
  EXPECT_LT(max(abs(got - expected)).item(), 1e-4f);
  EXPECT_EQ(steps(f.print_plan()), 3) << f.print_plan();  // c's factor, the product, and the final factor
}

}  // namespace
}  // namespace tegula
