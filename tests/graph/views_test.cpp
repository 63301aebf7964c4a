// The gradient by any tensor that the user holds counts all of its uses, and only those.

#include <gtest/gtest.h>

#include <algorithm>

#include "tegula/tegula.h"

namespace tegula {
namespace {

using Floats = std::vector<float>;

TEST(GradientByAView, ATransposeOfATransposeIsAUse) {
  const Tensor x = reshape(arange(0.f, 6.f), {2, 3}), t = transpose(x), l = sum(t * 2.0) + sum(transpose(t) * 3.0);
  EXPECT_EQ(grad(l, t).to_host(), Floats(6, 5));
  EXPECT_EQ(grad(l, x).to_host(), Floats(6, 5));
  const Tensor w = ones({3, 4}), wt = transpose(w);
  EXPECT_EQ(grad(sum(linear(ones({2, 3}), wt)), wt).to_host(), Floats(12, 2));
}

TEST(GradientByAView, OpsThatChangeNothingGiveATensorOfItsOwn) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> ops{
      {"reshape", [](const Tensor& x) { return reshape(x, {2, 3}); }},
      {"flatten", [](const Tensor& x) { return flatten(x, 0, 0); }},
      {"squeeze", [](const Tensor& x) { return squeeze(x); }},
      {"expand", [](const Tensor& x) { return expand(x, {2, 3}); }},
      {"permute", [](const Tensor& x) { return permute(x, {0, 1}); }},
      {"movedim", [](const Tensor& x) { return movedim(x, 1, 1); }},
      {"cast", [](const Tensor& x) { return cast(x, f32); }},
      {"slice", [](const Tensor& x) { return slice(x, 0, {}); }},
      {"roll", [](const Tensor& x) { return roll(x, 2, 0); }},
      {"pad", [](const Tensor& x) { return pad(x, std::vector<PadWidth>{{0, 0}, {0, 0}}); }},
      {"concat", [](const Tensor& x) { return concat(std::vector<Tensor>{x}, 0); }},
      {"repeat", [](const Tensor& x) { return repeat(x, {1, 1}); }},
      {"repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, 1, 1); }},
      {"split", [](const Tensor& x) { return split(x, std::vector<std::int64_t>{3}, 1)[0]; }},
      {"chunk", [](const Tensor& x) { return chunk(x, 1, 0)[0]; }},
      {"adaptive_avg_pool1d", [](const Tensor& x) { return adaptive_avg_pool1d(x, 3); }},
      {"pow", [](const Tensor& x) { return pow(x, 1); }},
      {"dropout", [](const Tensor& x) { return dropout(x, 0); }},
      {"Identity", [](const Tensor& x) { return nn::Identity()(x); }},
  };
  for (const auto& [name, op] : ops) {
    const Tensor m = ones({2, 3}), r = op(m), l = sum(r * 2.0) + sum(m * 3.0);
    EXPECT_EQ(r.shape(), m.shape()) << name;
    EXPECT_EQ(grad(l, r).to_host(), Floats(6, 2)) << name;
    EXPECT_EQ(grad(l, m).to_host(), Floats(6, 5)) << name;
  }
  const Tensor s = tensor({2.f}, Shape{}), total = sum(s);
  EXPECT_EQ(grad(total * 2.0 + s * 3.0, total).item(), 2);
}

TEST(GradientByAView, WhatChangesNothingCostsNothing) {
  const Tensor x = normal({8, 16}), w = normal({16, 4});
  auto bare = jit([](Tensor x, Tensor w) { return matmul(x, w); });
  auto wrapped = jit([](Tensor x, Tensor w) {
    const Tensor t = transpose(transpose(reshape(x, {8, 16})));
    return reshape(matmul(cast(t, f32), permute(permute(permute(w, {1, 0}), {0, 1}), {1, 0})), {8, 4});
  });
  EXPECT_EQ(bare(x, w).to_host(), wrapped(x, w).to_host());
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(bare.print_plan()), lines(wrapped.print_plan())) << wrapped.print_plan();
}

}  // namespace
}  // namespace tegula
