// Constants of a jit-ed function: literals that it makes at every call, and values that it reads while it is traced.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "tegula/core/check.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

TEST(Literals, TheSameDataAreOneConstantAtEveryCall) {
  auto f = jit([](Tensor x) { return x * tensor({1.f, 2.f}) + tensor(std::vector<float>{3, 4}, {2}); });
  for (int call = 1; call <= 300; ++call) {
    EXPECT_EQ(f(ones({2})).to_host(), (std::vector<float>{4, 6}));
    EXPECT_EQ(f.traces(), 1 + (call >= 2) + (call >= 4) + (call >= 16) + (call >= 256)) << "call " << call;
  }
  EXPECT_EQ(f.executables(), 1);
}

TEST(Literals, OfEveryDtypeAndShape) {
  auto f = jit([](Tensor x) {
    const std::vector<bool> odd{true, false};
    const Tensor mask = cast(tensor({std::int64_t{1}, std::int64_t{0}}), boolean);
    const Tensor nothing = tensor(std::vector<float>{}, {0}), number = tensor({std::int64_t{7}}),
                 nan = tensor({std::numeric_limits<float>::quiet_NaN()});
    const Tensor wide = tensor({2.5, -0.0});
    return std::vector<Tensor>{where(mask, x, 0.f), nothing + 1.f, number, cast(wide, f32) * x, isnan(nan), cast(tensor({0.1f}), bf16)};
  });
  for (int call = 0; call < 5; ++call) {
    const auto results = f(ones({2}));
    EXPECT_EQ(results[0].to_host(), (std::vector<float>{1, 0}));
    EXPECT_EQ(results[1].numel(), 0);
    EXPECT_EQ(results[2].item<std::int64_t>(), 7);
    EXPECT_EQ(results[3].to_host(), (std::vector<float>{2.5, 0}));
    EXPECT_TRUE(results[4].item<bool>());
  }
  EXPECT_EQ(f.executables(), 1);
}

TEST(Literals, InsideOfScanCheckpointAndGradients) {
  Variable w(tensor({1.f, -1.f}));
  auto f = jit([&](Tensor x) {
    const auto scanned = scan(
        [&](auto& carry, auto& in) {
          const Tensor h = carry[0] * tensor({0.5f, 0.25f}) + in[0] * w.read();
          return Scanned{{h}, {sum(h * tensor({1.f, 10.f}))}};
        },
        {zeros({2})}, {x});
    const Tensor part = checkpoint([&](const std::vector<Tensor>& y) { return square(y[0] * tensor({2.f, 3.f})); }, {w.read()});
    const Tensor loss = sum(scanned.ys[0]) + sum(part);
    return grad(loss, w);
  });
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const std::vector<float> first = f(x).to_host();
  for (int call = 0; call < 20; ++call) EXPECT_EQ(f(x).to_host(), first);
  EXPECT_FLOAT_EQ(first[0], 1 + 0.5f + 3 + 8 * 1);
  EXPECT_FLOAT_EQ(first[1], 10 * (2 + 0.5f + 4) + 18 * -1);
  EXPECT_EQ(f.executables(), 1);
}

TEST(Literals, AreComparedAtEveryCallWhereThatIsAskedFor) {
  const Checking literals(Check::Jit);
  float value = 1;
  auto f = jit([&](Tensor x) { return x + tensor({value, 2.f}); });
  for (int call = 0; call < 6; ++call) EXPECT_EQ(f(zeros({2})).to_host(), (std::vector<float>{1, 2}));
  value = 3;
  EXPECT_TRUE(contains(message_of([&] { f(zeros({2})); }), "holds other data than at the first call: element 0 was 1 and is 3"));
}

TEST(Literals, OtherDataAreAnErrorThatNamesTheLineAndWhatToDo) {
  float value = 1;
  auto f = jit([&](Tensor x) { return x + tensor({0.f, value}); });
  f(zeros({2}));
  value = 2;
  const std::string message = message_of([&] { f(zeros({2})); });
  EXPECT_TRUE(contains(message, "a tensor made inside of the function at ")) << message;
  EXPECT_TRUE(contains(message, "literals_test.cpp:")) << message;
  EXPECT_TRUE(contains(message, "element 1 was 1 and is 2")) << message;
  EXPECT_TRUE(contains(message, "make the tensor an argument of the function, or a Variable")) << message;
}

TEST(Literals, ThoseOfLaterCallsAreNotKept) {
  std::vector<float> numbers(1 << 16);
  std::iota(numbers.begin(), numbers.end(), 0.f);
  const HostArray array = HostArray::from(std::span<const float>(numbers), {1 << 16});
  auto f = jit([&](Tensor x) { return sum(x * from_array(array)); });
  const float first = f(ones({1 << 16})).item();
  const int users = array.buffer->use_count();
  for (int call = 0; call < 300; ++call) EXPECT_EQ(f(ones({1 << 16})).item(), first);
  EXPECT_EQ(array.buffer->use_count(), users);
}

TEST(Literals, ACapturedTensorMadeAgainWithTheSameDataIsTheSameConstant) {
  Tensor captured = tensor({1.f, 2.f});
  auto f = jit([&](Tensor x) { return x + captured; });
  for (int call = 0; call < 20; ++call) {
    captured = tensor({1.f, 2.f});
    EXPECT_EQ(f(zeros({2})).to_host(), (std::vector<float>{1, 2}));
  }
  captured = tensor({1.f, 3.f});
  EXPECT_TRUE(contains(message_of([&] {
                         for (int call = 0; call < 300; ++call) f(zeros({2}));
                       }),
                       "a captured tensor"));
}

TEST(KnownValues, CanBeLookedAtWhileTracing) {
  const Tensor shape = tensor({std::int64_t{2}, std::int64_t{3}});
  const Tensor pending = shape * 2;  // not computed when the trace looks
  auto f = jit([&](Tensor x) {
    const auto sizes = shape.to_host<std::int64_t>();
    EXPECT_EQ(pending.to_host<std::int64_t>(), (std::vector<std::int64_t>{4, 6}));
    const auto literal = tensor({std::int64_t{5}}).item<std::int64_t>();
    EXPECT_EQ((tensor({1.f, 2.f}) + 1.f).to_host(), (std::vector<float>{2, 3}));
    EXPECT_TRUE(contains(shape.print(), "[2, 3]"));
    return reshape(x, Shape{sizes[0], sizes[1]}) + static_cast<float>(literal);
  });
  for (int call = 0; call < 5; ++call) {
    const Tensor y = f(ones({6}));
    EXPECT_EQ(y.shape(), (Shape{2, 3}));
    EXPECT_EQ(y.to_host(), std::vector<float>(6, 6));
  }
  EXPECT_EQ(f.executables(), 1);
}

TEST(KnownValues, CanBeLookedAtInsideOfAScan) {
  const Tensor factor = tensor({3.f});
  const auto steps = [&](Tensor x) {
    return scan(
        [&](auto& carry, auto& in) {
          const float known = (factor * tensor({2.f})).item();
          const Tensor h = carry[0] + in[0] * known;
          return Scanned{{h}, {h}};
        },
        {Tensor(0.f)}, {x});
  };
  EXPECT_EQ(steps(ones({3})).ys[0].to_host(), (std::vector<float>{6, 12, 18}));
  auto f = jit([&](Tensor x) { return steps(x).ys[0]; });
  for (int call = 0; call < 5; ++call) EXPECT_EQ(f(ones({3})).to_host(), (std::vector<float>{6, 12, 18}));
}

TEST(KnownValues, WhatDependsOnTheTraceIsRefusedAndSaysWhatHelps) {
  Variable w(1.f);
  const Tensor constant = tensor({1.f});
  auto argument = jit([&](Tensor x) { return x * (x + constant).item(); });
  auto variable = jit([&](Tensor x) { return x * (w.read() + constant).item(); });
  auto drawn = jit([&](Tensor x) { return x * uniform({1}).item(); });
  for (const std::string& message :
       {message_of([&] { argument(ones({1})); }), message_of([&] { variable(ones({1})); }), message_of([&] { drawn(ones({1})); })}) {
    EXPECT_TRUE(contains(message, "item: got a value that is still being traced by the jit at")) << message;
    EXPECT_TRUE(contains(message, "debug_print(x)")) << message;
    EXPECT_TRUE(contains(message, "TEGULA_EAGER=1 or set_eager(true)")) << message;
  }
  const std::string within = message_of(
      [&] { scan([&](auto& carry, auto& in) { return Scanned{{carry[0] * carry[0].item()}, {in[0]}}; }, {Tensor(0.f)}, {ones({3})}); });
  EXPECT_TRUE(contains(within, "make it one of the ys and look at it behind the scan; debug_print(x)")) << within;
}

}  // namespace
}  // namespace tegula
