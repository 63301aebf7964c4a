// One value is rounded one way, whichever kernel computes it: stored by one and computed again by another, in one plan or in several, in
// f32 and in halves. An extreme is therefore among the elements that it is the extreme of.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;

double count(const Tensor& mask) { return sum(cast(mask, f32)).item(); }

TEST(OneRounding, GradientsOfExtremesFindThem) {
  const Tensor a = drawn({100, 100}, f32), b = drawn({100, 100}, f32);
  for (const bool largest : {true, false}) {
    auto f = jit([&](Tensor x, Tensor y) {
      const Tensor p = x * y, m = largest ? max(1.0 - p, 0) : min(1.0 - p, 0);
      return std::vector<Tensor>{p, grad(sum(m), x)};
    });
    EXPECT_EQ(count(isnan(f(a, b)[1])), 0);
  }
}

TEST(OneRounding, GradientsOfExtremesFindThemBehindALook) {
  for (const DType dtype : {f16, bf16, f32}) {
    const Tensor h = drawn({3, 300}, dtype);
    const auto gradients = [&](const Tensor& x, const std::function<Tensor(const Tensor&)>& extreme) {
      const Tensor y = extreme(x);
      eval(y);
      return grad(sum(cast(y, f32)), h);
    };
    const auto row_max = [](const Tensor& x) { return max(x, 1); };
    const auto row_min = [](const Tensor& x) { return min(x, 1); };
    for (const auto& extreme : {std::function<Tensor(const Tensor&)>(row_max), std::function<Tensor(const Tensor&)>(row_min)}) {
      EXPECT_EQ(count(isnan(gradients(sin(h), extreme))), 0) << name(dtype);
      EXPECT_EQ(count(isnan(gradients(sin(h) * cos(h) - h * h, extreme))), 0) << name(dtype);
      // A mean that is computed again may differ in its last digit, and so may the difference from it.
      EXPECT_EQ(count(isnan(gradients(h - mean(h * h, 1, Keep::Yes), extreme))), 0) << name(dtype);
      EXPECT_EQ(count(isnan(gradients(h - mean(sin(h)), extreme))), 0) << name(dtype);
    }
  }
}

TEST(OneRounding, AnExtremeIsAmongTheElements) {
  for (const DType dtype : {f16, bf16, f32}) {
    const Tensor h = drawn({4, 500}, dtype), k = drawn({4, 500}, dtype);
    const Tensor x = h * k - sin(h) * 0.3;
    EXPECT_GE(count(x == max(x, 1, Keep::Yes)), 4) << name(dtype);
    const Tensor m = max(x, 1, Keep::Yes);
    eval(m);
    EXPECT_GE(count(x == m), 4) << name(dtype);
  }
}

// A sum is rounded as the tiles of its program add it. A value kept while a Variable stays does not depend on sums that the plan of every call
// computes, too: they may be tiled differently there, and the largest element would not be found (the gradient was 0).
TEST(OneRounding, WhatIsKeptIsNotMadeOfSumsThatAreAddedAgain) {
  const auto loss = [](const Tensor& v, const Tensor& y) {
    const Tensor norms = atan2(norm(sigmoid(repeat(reshape(v, {1, 1, 1}), {5, 9, 7})), 3, {0, 2}), v + 3.0);
    const Tensor largest = norm(exp(slice(repeat(norms, {26}), 0, {0, 231})), std::numeric_limits<double>::infinity());
    return square(largest + y);
  };
  const Tensor y = full({}, 1.0);
  for (int i = 0; i < 100; ++i) {
    const Tensor x = full({}, -1.0 + 0.02 * i);
    Variable v(x);
    auto f = jit([&](const Tensor& z) {
      const Tensor value = loss(v.read(), z);
      return std::vector<Tensor>{value, grad(value, v)};
    });
    const double expected = grad(loss(x, y), x).item();
    for (int call = 0; call < 2; ++call) EXPECT_NEAR(f(y)[1].item(), expected, 1e-5) << i;
  }
}

// ---- Random graphs of words that do not depend on an order: evaluated whole, by a jit-ed function, and step by step.

class Graphs {
 public:
  explicit Graphs(unsigned seed, DType dtype) : random_(seed), dtype_(dtype) {}

  /// `look` is called with every value as it is made.
  std::vector<Tensor> build(const std::vector<Tensor>& leaves, const std::function<void(const Tensor&)>& look) {
    std::vector<Tensor> values = leaves;
    for (int i = 0; i < 12; ++i) {
      values.push_back(grown(values));
      look(values.back());
    }
    return {values.end() - 4, values.end()};
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  Tensor any(const std::vector<Tensor>& values) { return values[values.size() - 1 - pick(std::min<std::size_t>(values.size(), 6))]; }

  Tensor grown(const std::vector<Tensor>& values) {
    const std::size_t word = pick(14);
    const Tensor x = any(values), y = any(values);  // in this order on every compiler
    switch (word) {
      case 0: return x * y + 0.7;
      case 1: return x * 1.3 - y;
      case 2: return y - x * x;
      case 3: return x + y * 0.1;
      case 4: return tanh(x) * y;
      case 5: return where(x > y, x * 0.5, y + x);
      case 6: return x - max(x, 1, Keep::Yes);
      case 7: return x * y - min(y, 0, Keep::Yes);
      case 8: return x / (1.5 + max(abs(y), 1, Keep::Yes));
      case 9: return cast(x == max(x, 1, Keep::Yes), dtype_) - y * y;
      case 10: return sigmoid(x) - x * y;
      case 11: return gelu(x) * 0.9 + y;
      case 12: return clamp(x * y, -1.0, 1.0) - y;
      default: return exp(x * 0.25) - y * y;
    }
  }

  std::mt19937 random_;
  DType dtype_;
};

std::string difference(const Tensor& got, const Tensor& expected) {
  const std::vector<double> a = got.to_host<double>(), b = expected.to_host<double>();
  int differ = 0;
  std::string text;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    char line[120];
    std::snprintf(line, sizeof line, "element %zu: %.9g, expected %.9g\n", i, a[i], b[i]);
    if (differ++ < 3) text += line;
  }
  return differ == 0 ? "" : text + std::to_string(differ) + " differ";
}

TEST(OneRounding, RandomGraphsAreTheSameHoweverTheyAreCut) {
  for (const DType dtype : {f32, f16, bf16}) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      manual_seed(seed);
      const Shape shape{static_cast<std::int64_t>(1 + seed % 7), static_cast<std::int64_t>(3 + 17 * (seed % 5))};
      const std::vector<Tensor> leaves{drawn(shape, dtype), drawn(shape, dtype)};
      const auto step_by_step = Graphs(seed, dtype).build(leaves, [](const Tensor& x) { eval(x); });
      const auto whole = Graphs(seed, dtype).build(leaves, [](const Tensor&) {});
      eval(whole[0], whole[1], whole[2], whole[3]);
      std::mt19937 coin(seed);
      const auto looked_at = Graphs(seed, dtype).build(leaves, [&](const Tensor& x) {
        if (coin() % 3 == 0) eval(x);
      });
      auto f = jit([&](Tensor x, Tensor y) { return Graphs(seed, dtype).build({x, y}, [](const Tensor&) {}); });
      const auto traced = f(leaves[0], leaves[1]);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const std::string where = std::string(name(dtype)) + ", seed " + std::to_string(seed) + ", result " + std::to_string(i);
        EXPECT_EQ(difference(whole[i], step_by_step[i]), "") << where << ", whole";
        EXPECT_EQ(difference(looked_at[i], step_by_step[i]), "") << where << ", looked at";
        EXPECT_EQ(difference(traced[i], step_by_step[i]), "") << where << ", traced";
      }
    }
  }
}

}  // namespace
}  // namespace tegula
