// Sums by groups compute their terms where these are made of lines that an index names: values, gradients, checks, and where terms must be stored.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tegula/ops/check_gradients.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/occurrences.h"

namespace tegula {
namespace {

using In = std::vector<Tensor>;

struct Edges {
  Segments from, to;
};
Edges edges(std::int64_t nodes, std::int64_t count) {
  const auto ends = [&](std::int64_t step) {
    const Segments s = segments(remainder(arange(count) * step + 3, nodes), nodes);
    eval(s.starts, s.order, s.index);
    return s;
  };
  return {ends(7), ends(5)};
}

Tensor drawn(const Shape& shape, DType dtype) {
  const Tensor x = normal(shape, 0, 1, {.dtype = dtype});
  eval(x);
  return x;
}
std::vector<double> numbers(const Tensor& x) { return cast(x, f64).to_host<double>(); }
Tensor messages(const Tensor& sent, const Tensor& received, const Edges& e) {
  return relu(segment_take(sent, e.from) + segment_take(received, e.to));
}
/// The number of sums in the plan that compute their terms, and of those that read lines.
std::pair<int, int> sums(const std::string& plan) { return {test::occurrences(plan, " terms"), test::occurrences(plan, " lines of ")}; }
bool folds() { return default_device().number() == 0; }

TEST(FoldTerms, AreThoseOfStoredTermsToTheBit) {
  manual_seed(3);
  for (const DType dtype : {f32, f64})
    for (const std::int64_t width : {1, 3, 64, 300})
      for (const std::int64_t count : {1, 7, 500}) {
        const Edges e = edges(40, count);
        const Tensor a = drawn({40, width}, dtype), b = drawn({40, width}, dtype), factors = drawn({count, width}, dtype);
        const auto f = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
          return segment_sum((segment_take(x, e.from) - 0.5 * segment_take(y, e.to)) * z, e.to);
        };
        auto step = jit(f);
        const std::vector<double> got = numbers(step(a, b, factors));
        if (folds()) { EXPECT_EQ(sums(step.print_plan()), (std::pair{1, 0})) << step.print_plan(); }
        const Tensor terms = (take(a, e.from.index, 0) - 0.5 * take(b, e.to.index, 0)) * factors;
        eval(terms);
        EXPECT_EQ(got, numbers(segment_sum(terms, e.to))) << width << " " << count << " " << name(dtype);
      }
}

TEST(FoldTerms, OnAnyNumberOfThreads) {
  manual_seed(4);
  const Edges e = edges(1000, 30000);
  const Tensor a = drawn({1000, 64}, f32), b = drawn({1000, 64}, f32);
  auto step = jit([&](const Tensor& x, const Tensor& y) { return segment_mean(messages(x, y, e), e.to); });
  const int before = num_threads();
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    results.push_back(numbers(step(a, b)));
    EXPECT_EQ(numbers(step(a, b)), results.back());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(FoldTerms, Gradients) {
  manual_seed(5);
  const Edges e = edges(6, 17);
  const In at{drawn({6, 3}, f64), drawn({6, 3}, f64)};
  check_gradients([&](const In& x) { return segment_sum(sin(segment_take(x[0], e.from)) * segment_take(x[1], e.to), e.to); }, at);
  check_gradients([&](const In& x) { return segment_mean(tanh(segment_take(x[0], e.from) + segment_take(x[1], e.to)), e.from); }, at);
}

TEST(FoldTerms, ATrainingStepStoresNoMessages) {
  manual_seed(6);
  const Edges e = edges(50, 400);
  Variable h(drawn({50, 8}, f32)), g(drawn({50, 8}, f32));
  auto step = jit([&] { return grad(sum(square(segment_sum(messages(h, g, e), e.to))), In{h, g}); });
  const In got = step();
  if (folds()) { EXPECT_EQ(sums(step.print_plan()), (std::pair{3, 0})) << step.print_plan(); }
  // By numbers alone.
  const std::vector<double> x = numbers(h), y = numbers(g);
  const std::vector<std::int64_t> from = e.from.index.to_host<std::int64_t>(), to = e.to.index.to_host<std::int64_t>();
  std::vector<double> total(400), dx(400), dy(400);
  const auto each = [&](auto add) {
    for (std::size_t k = 0; k < from.size(); ++k)
      for (std::size_t c = 0; c < 8; ++c) {
        const std::size_t i = static_cast<std::size_t>(from[k]) * 8 + c, j = static_cast<std::size_t>(to[k]) * 8 + c;
        if (x[i] + y[j] > 0) add(i, j);
      }
  };
  each([&](std::size_t i, std::size_t j) { total[j] += x[i] + y[j]; });
  each([&](std::size_t i, std::size_t j) { dx[i] += 2 * total[j], dy[j] += 2 * total[j]; });
  const std::vector<double> gx = numbers(got[0]), gy = numbers(got[1]);
  for (std::size_t i = 0; i < 400; ++i) {
    EXPECT_NEAR(gx[i], dx[i], 1e-4 * (1 + std::abs(dx[i])));
    EXPECT_NEAR(gy[i], dy[i], 1e-4 * (1 + std::abs(dy[i])));
  }
}

TEST(FoldTerms, TermsThatOthersReadAreStored) {
  manual_seed(7);
  const Edges e = edges(20, 90);
  const Tensor a = drawn({20, 4}, f32), b = drawn({20, 4}, f32);
  auto step = jit([&](const Tensor& x, const Tensor& y) {
    const Tensor m = messages(x, y, e);
    return In{segment_sum(m, e.to), sum(m, 0), segment_sum(m * segment_take(x, e.to), e.from)};
  });
  const In got = step(a, b);
  if (folds()) {  // m is in memory for its own sum, and for the last one's terms
    EXPECT_EQ(sums(step.print_plan()), (std::pair{1, 1})) << step.print_plan();
  }
  const Tensor m = relu(take(a, e.from.index, 0) + take(b, e.to.index, 0));
  eval(m);
  EXPECT_EQ(numbers(got[0]), numbers(segment_sum(m, e.to)));
  const Tensor product = m * take(a, e.to.index, 0);
  eval(product);
  EXPECT_EQ(numbers(got[2]), numbers(segment_sum(product, e.from)));
}

TEST(FoldTerms, OtherDtypesAndLinesWithoutAnIndexAreStored) {
  const Edges e = edges(20, 90);
  for (const DType dtype : {f16, bf16, i32}) {
    const Tensor a = remainder(reshape(arange(80), {20, 4}), 5), x = cast(a, dtype);
    auto step = jit([&](const Tensor& in) { return segment_sum(segment_take(in, e.from) + segment_take(in, e.to), e.to); });
    const Tensor terms = take(a, e.from.index, 0) + take(a, e.to.index, 0);
    EXPECT_EQ(numbers(step(x)), numbers(segment_sum(terms, e.to))) << name(dtype);
    EXPECT_EQ(sums(step.print_plan()).first, 0) << name(dtype);
  }
  auto step = jit([&](const Tensor& x, const Tensor& y) { return segment_sum(x * y, e.to); });
  step(ones({90, 4}), ones({90, 4}));
  EXPECT_EQ(sums(step.print_plan()).first, 0);
}

TEST(FoldTerms, ConditionsAndOtherShapesAreStored) {
  const Edges e = edges(20, 90);
  const Tensor a = drawn({20, 4}, f32), b = drawn({90, 4}, f32), one = drawn({90, 1}, f32), row = drawn({4}, f32), number = drawn({}, f32);
  const auto same = [](const auto& terms, const Segments& s) {
    auto step = jit([&] { return segment_sum(terms(), s); });
    const std::vector<double> got = numbers(step());
    const Tensor stored = terms();
    eval(stored);
    EXPECT_EQ(got, numbers(segment_sum(stored, s)));
  };
  same([&] { return where(segment_take(a, e.from) > segment_take(a, e.to), segment_take(a, e.from), b); }, e.to);
  same([&] { return where(b > 0.0, b, b * 0.5); }, e.to);
  same([&] { return where(segment_take(a, e.from) > 0.0, b, 0.5 * b); }, e.to);
  same([&] { return cast(segment_take(a, e.from) > b, f32) * b; }, e.to);
  same([&] { return segment_take(a, e.from) * one; }, e.to);
  same([&] { return segment_take(a, e.from) + row; }, e.to);
  same([&] { return segment_take(a, e.from) * number; }, e.to);
  same([&] { return pow(segment_take(a, e.from), 3.0) + exp(b); }, e.to);
}

TEST(FoldTerms, NaNAndInfinityStayInTheirGroups) {
  const Segments s = segments(tensor<std::int64_t>({0, 1, 1, 2}), 4);
  const Tensor x = tensor({1.f, NAN, INFINITY, 2.f}, {4, 1}), i = tensor<std::int64_t>({0, 1, -1, 2});
  const std::vector<double> y =
      numbers(jit([&](const Tensor& in, const Tensor& index) { return segment_sum(take(in, index, 0) * 0.5, s); })(x, i));
  EXPECT_EQ(y[0], 0.5);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], 0);
}

TEST(FoldTerms, AnIndexOutsideIsAnErrorAndChangesNothing) {
  const Segments s = segments(tensor<std::int64_t>({0, 1, 1}), 2);
  Variable touched(zeros({2, 3}));
  auto step = jit([&](const Tensor& x, const Tensor& index) {
    const Tensor y = segment_sum(take(x, index, 0) + 1.0, s);
    touched = y;
    return y;
  });
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    EXPECT_HAS_MESSAGE(numbers(step(ones({4, 3}), tensor<std::int64_t>({0, wrong, 1}))),
                       "got index " + std::to_string(wrong) + " for axis 0 of size 4, where it must lie in [-4, 3]");
    EXPECT_EQ(numbers(sum(touched)), std::vector<double>{0});
  }
  EXPECT_EQ(numbers(step(ones({4, 3}), tensor<std::int64_t>({3, -4, 0}))), (std::vector<double>{2, 2, 2, 4, 4, 4}));
}

}  // namespace
}  // namespace tegula
