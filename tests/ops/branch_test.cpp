// cond and while_loop: what is computed, how often, and their gradients.
#include "tegula/ops/branch.h"

#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>

#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;

Tensors squared(const Tensors& x) { return {x[0] * x[0], sum(x[0])}; }
Tensors rooted(const Tensors& x) { return {sqrt(x[0]), sum(x[0]) * 2}; }

TEST(Cond, GivesTheBranchThatHolds) {
  auto choose = jit([](const Tensor& holds, const Tensor& x) {
    const Tensors out = cond(holds, squared, rooted, {x});
    return std::pair(out[0], out[1]);
  });
  const Tensor x = tensor({4.F, 9.F});
  test::expect_close(choose(Tensor(true), x).first, {16, 81}, 1e-5);
  test::expect_close(choose(Tensor(false), x).first, {2, 3}, 1e-6);
  test::expect_close(choose(Tensor(false), x).second, {26}, 1e-5);
  test::expect_close(cond(Tensor(false), squared, rooted, {x})[0], {2, 3}, 1e-6);
  EXPECT_TRUE(cond(Tensor(true), [](auto&) { return Tensors{}; }, [](auto&) { return Tensors{}; }).empty());
}

TEST(Cond, ABranchThatDoesNotHoldFailsNoCheck) {
  if (default_device().traits().queues) GTEST_SKIP() << "skipped: both branches run on a GPU";
  const Tensor table = tensor({5.F, 6.F, 7.F});
  auto look_up = jit([&](const Tensor& index) {
    return cond(
        index < 3, [&](const Tensors& i) { return Tensors{take(table, i[0], 0)}; }, [](const Tensors&) { return Tensors{Tensor(-1.F)}; },
        {index})[0];
  });
  EXPECT_EQ(look_up(Tensor(2)).item<float>(), 7.F);
  EXPECT_EQ(look_up(Tensor(3)).item<float>(), -1.F);
}

TEST(Cond, GradientsComeFromTheBranchThatHolds) {
  Variable w = tensor({4.F, 0.F});  // whose root has an infinite derivative
  const auto gradient = [&](bool holds) {
    return jit([&](const Tensor& p) { return grad(sum(cond(p, squared, rooted, {w.read()})[0]), w); })(Tensor(holds));
  };
  test::expect_close(gradient(true), {8, 0}, 1e-6);
  EXPECT_EQ(gradient(false).to_host<float>()[0], 0.25F);
  EXPECT_TRUE(std::isinf(gradient(false).to_host<float>()[1]));
  const auto function = [](const Tensors& in) {
    return sum(cond(sum(in[0]) > 0, squared, [](const Tensors& x) { return Tensors{exp(x[0]), sum(x[0])}; }, in)[0]);
  };
  check_gradients(function, {uniform({3}, 0.5, 1, {.dtype = f64})});
  check_gradients(function, {uniform({3}, -1, -0.5, {.dtype = f64})});
}

TEST(Cond, FaultsAreNamed) {
  const Tensor x = ones({2});
  EXPECT_NE(message_of([&] { cond(x > 0, squared, squared, {x}); }).find("expected one boolean, ()"), std::string::npos);
  EXPECT_NE(
      message_of([&] { cond(Tensor(true), squared, [](const Tensors& v) { return Tensors{v[0]}; }, {x}); }).find("1 values, expected 2"),
      std::string::npos);
  EXPECT_NE(
      message_of([&] {
        cond(Tensor(true), [](const Tensors& v) { return Tensors{v[0]}; }, [](const Tensors& v) { return Tensors{cast(v[0], f64)}; }, {x});
      }).find("value 0 as f64 (2,), expected f32 (2,)"),
      std::string::npos);
  Variable state = zeros({2});
  const auto assigns = [&](const Tensors& v) { return state = v[0], Tensors{v[0]}; };
  EXPECT_NE(message_of([&] { cond(Tensor(true), assigns, assigns, {x}); }).find("a Variable that is assigned"), std::string::npos);
}

/// The root of x by Newton's steps.
Repeated root_of(const Tensor& x, std::int64_t most) {
  return while_loop([&](const Tensors& c) { return abs(c[0] * c[0] - x) > 1e-4; },
                    [&](const Tensors& c) { return Tensors{(c[0] + x / c[0]) / 2}; }, {x}, most);
}

TEST(WhileLoop, EndsWhenTheConditionDoesNotHold) {
  auto root = jit([](const Tensor& x) {
    const Repeated out = root_of(x, 50);
    return std::pair(out.carry[0], out.steps);
  });
  const auto [two, steps] = root(Tensor(4.F));
  EXPECT_NEAR(two.item<float>(), 2, 1e-4);
  EXPECT_GT(steps.item<std::int64_t>(), 2);
  EXPECT_LT(steps.item<std::int64_t>(), 8);
  EXPECT_EQ(root(Tensor(1.F)).second.item<std::int64_t>(), 0);
  EXPECT_EQ(root_of(Tensor(1e6F), 3).steps.item<std::int64_t>(), 3);
  EXPECT_EQ(root_of(Tensor(9.F), 0).carry[0].item<float>(), 9.F);
}

TEST(WhileLoop, StepsBehindTheEndAreNotComputed) {
  if (default_device().traits().queues) GTEST_SKIP() << "skipped: all steps run on a GPU";
  // Each step looks up an element: the fourth does not exist.
  const Tensor table = tensor({1.F, 2.F, 3.F});
  auto total = jit([&](const Tensor& end) {
    const Repeated out =
        while_loop([&](const Tensors& c) { return c[0] < end; },
                   [&](const Tensors& c) { return Tensors{c[0] + 1, c[1] + take(table, c[0], 0)}; }, {Tensor(0), Tensor(0.F)}, 1000);
    return out.carry[1];
  });
  EXPECT_EQ(total(Tensor(3)).item<float>(), 6.F);
  EXPECT_EQ(total(Tensor(0)).item<float>(), 0.F);
  EXPECT_THROW(total(Tensor(4)).item<float>(), Error);
}

TEST(WhileLoop, GradientsAreThoseOfTheStepsThatRan) {
  check_gradients([](const Tensors& in) { return root_of(in[0], 20).carry[0]; }, {full({}, 3.0, f64)});
  Variable factor = Tensor(2.F);
  auto gradient = jit([&](const Tensor& limit) {
    const Repeated out = while_loop([&](const Tensors& c) { return c[0] < limit; },
                                    [&](const Tensors& c) { return Tensors{c[0] * factor}; }, {Tensor(1.F)}, 10);
    return grad(out.carry[0], factor);
  });
  EXPECT_NEAR(gradient(Tensor(7.F)).item<float>(), 12, 1e-4);  // three steps: 3 factor²
  EXPECT_NEAR(gradient(Tensor(3.F)).item<float>(), 4, 1e-4);
  EXPECT_NEAR(gradient(Tensor(0.F)).item<float>(), 0, 0);
}

TEST(WhileLoop, FaultsAreNamed) {
  const auto always = [](const Tensors&) { return Tensor(true); };
  const auto same = [](const Tensors& c) { return c; };
  EXPECT_NE(message_of([&] { while_loop(always, same, {ones({2})}, -1); }).find("at least 0"), std::string::npos);
  EXPECT_NE(message_of([&] { while_loop([](const Tensors& c) { return c[0]; }, same, {ones({2})}, 3); }).find("one boolean"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              while_loop(always, [](const Tensors& c) { return Tensors{cast(c[0], f64)}; }, {ones({2})}, 3);
            }).find("value 0 as f64 (2,), expected f32 (2,), as before the step"),
            std::string::npos);
}

}  // namespace
}  // namespace tegula
