// An item read only through slices is computed slice by slice, with the same results.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tegula/tegula.h"
#include "tests/support/occurrences.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensor&, const Tensor&, const Tensor&)>;

/// Checks that jit and op after op give the same for f, to the bit. Returns the number of the plan's tile programs whose names begin so. a, b (6, 64), c (64).
int programs(const Function& f, DType dtype = f32, const std::string& name = "") {
  const auto drawn = [&](const Shape& shape) { return from_array(cast(normal(shape), dtype).to_array()); };
  const Tensor a = drawn({6, 64}), b = drawn({6, 64}), c = drawn({64});
  set_eager(true);
  const Tensors want = f(a, b, c);
  set_eager(false);
  auto together = jit(f);
  const Tensors got = together(a, b, c);
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host<double>(), want[i].to_host<double>()) << "result " << i;
  return test::occurrences(together.print_plan(), ". tile " + name);
}

Tensor gates(const Tensor& sum) {
  const auto parts = split(sum, 16, 1);
  return sigmoid(parts[0]) * tanh(parts[1]) + sigmoid(parts[2]) - parts[3];
}

TEST(RaiseSlices, TheGatesOfACellAreOneProgram) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor& c) { return Tensors{gates(a * 2.0 + b + c)}; }, dtype), 1)
        << name(dtype);
  }
}

TEST(RaiseSlices, ThePartMayBeAnySlice) {
  const auto of = [](const std::function<Tensor(const Tensor&)>& part) {
    return programs([&](const Tensor& a, const Tensor& b, const Tensor&) { return Tensors{exp(part(a + b))}; });
  };
  EXPECT_EQ(of([](const Tensor& x) { return slice(x, 1, {8, 40}); }), 1);
  EXPECT_EQ(of([](const Tensor& x) { return slice(x, 0, {1, 5}); }), 1);
  EXPECT_EQ(of([](const Tensor& x) { return transpose(slice(x, 0, {1, 5})); }), 2);  // a view between them: stored
  EXPECT_EQ(of([](const Tensor& x) { return slice(x, 1, {0, 64, 2}); }), 1);
}

TEST(RaiseSlices, NothingIsComputedTwice) {
  // Parts that overlap, and one beside a reader of all: the sum is stored.
  EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor&) {
              const Tensor sum = exp(a + b);
              return Tensors{sin(slice(sum, 1, {0, 40})) * cos(slice(sum, 1, {24, 64}))};
            }),
            2);
  EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor&) {
              const Tensor sum = exp(a + b);
              return Tensors{gates(sum), mean(sum, {0, 1})};
            }),
            2);
}

TEST(RaiseSlices, ResultsAndWhatCallsReadStay) {
  EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor&) {
              const Tensor sum = a + b;
              return Tensors{sum, gates(sum)};
            }),
            2);
  EXPECT_EQ(programs(
                [](const Tensor& a, const Tensor& b, const Tensor&) {
                  const auto parts = split(a + b, 32, 1);
                  return Tensors{matmul(parts[0], transpose(parts[1]))};  // a program, too, where a small product is not a call
                },
                f32, "add"),
            1);
}

TEST(RaiseSlices, WhatAllOfItReadsIsThereOnce) {
  const Function both = [](const Tensor& a, const Tensor& b, const Tensor&) {
    const Tensor sum = tanh(a + b);
    return Tensors{exp(sum) * b, gates(sum)};
  };
  EXPECT_EQ(programs(both), 2);
  EXPECT_EQ(programs(both, f32, "add"), 1) << "the gates add again what has been added";
}

TEST(RaiseSlices, ACheckIsOfAllThatIsComputed) {
  const Tensor labels = tensor({std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{99}}), scores = normal({4, 8});
  auto first_half = jit([](Tensor scores, Tensor labels) {
    return slice(cross_entropy(scores, labels, {.reduction = LossReduction::None}), 0, {0, 2}) * 2.0;
  });
  EXPECT_THROW(first_half(scores, labels).to_host(), Error);
}

TEST(RaiseSlices, AChainIsRaisedAsFarAsNothingElseReadsIt) {
  EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor& c) { return Tensors{gates(tanh(exp(a) + b) * c)}; }), 1);
  EXPECT_EQ(programs([](const Tensor& a, const Tensor& b, const Tensor& c) {
              const Tensor first = exp(a);
              return Tensors{gates(tanh(first + b) * c), first};
            }),
            2);
}

}  // namespace
}  // namespace tegula
