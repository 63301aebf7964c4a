// The passes know what views do to axes: a view taken for the whole of its base would be read as if nothing had been cut away.

#include "tegula/compile/view_axes.h"

#include <gtest/gtest.h>

#include <random>

#include "tegula/graph/tensor.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

using compile::axes_of;
using compile::marked;

/// The layout of a chain of views over a base with that layout.
std::optional<Layout> seen(const Node& view, const Node& base, const Layout& layout) {
  if (&view == &base) return layout;
  const auto input = seen(view.input(0), base, layout);
  return input ? shown(view.op(), *input) : std::nullopt;
}

/// "0 - 1" for a view with three axes: the axes of the base, "-" for none; "part" when it is not the whole.
std::string axes(Tensor base, Tensor view) {
  const auto layout = seen(*view.node(), *base.node(), marked(base.shape()));
  const auto found = layout ? axes_of(base.shape(), *layout) : std::nullopt;
  if (!found) return "part";
  std::string text;
  for (int i = 0; i < layout->shape.rank(); ++i) {
    const int axis = (*found)[static_cast<std::size_t>(i)];
    text += (text.empty() ? "" : " ") + (axis < 0 ? "-" : std::to_string(axis));
  }
  return text;
}

TEST(ViewAxes, InsertedDroppedPermutedAndBroadcastAxesAreSeenThrough) {
  const Tensor x = zeros({3, 1, 5});
  EXPECT_EQ(axes(x, x), "0 - 2");
  EXPECT_EQ(axes(x, permute(x, {2, 0, 1})), "2 0 -");
  EXPECT_EQ(axes(x, reshape(x, {3, 5})), "0 2");
  EXPECT_EQ(axes(x, expand(x, {7, 3, 4, 5})), "- 0 - 2");
  EXPECT_EQ(axes(x, flip(flip(x, {0}), {0})), "0 - 2");
}

TEST(ViewAxes, APartIsNotTheWhole) {
  const Tensor x = zeros({3, 4});
  EXPECT_EQ(axes(x, select(x, 0, 0)), "part");
  EXPECT_EQ(axes(x, slice(x, 0, {0, 1})), "part");
  EXPECT_EQ(axes(x, expand(slice(x, 0, {0, 1}), {3, 4})), "part");
  EXPECT_EQ(axes(x, slice(x, 1, {0, 4, 2})), "part");
  EXPECT_EQ(axes(x, select(x, 0, 1)), "part");
  EXPECT_EQ(axes(x, flip(x, {1})), "part");
  const Tensor square = zeros({4, 4});
  EXPECT_EQ(axes(square, diagonal(square)), "part");
  const Tensor line = zeros({4});
  EXPECT_EQ(axes(line, windows(line, {0}, {2})), "part");
}

// Eight axes of one size: a sum of two marks, or a multiple of one, must not pass for a third.
TEST(ViewAxes, NoCombinationOfEightAxesPassesForAnother) {
  const Shape shape = Dims::filled(kMaxRank, 2);
  const Tensor x = zeros(shape);
  for (int a = 0; a < kMaxRank; ++a) {
    for (int b = 0; b < kMaxRank; ++b) {
      if (a == b) continue;
      EXPECT_EQ(axes(x, diagonal(x, 0, a, b)), "part") << a << ' ' << b;
      // With the rest cut away, only the marks are left to tell.
      Tensor rest = diagonal(x, 0, a, b);
      while (rest.rank() > 1) rest = select(rest, 0, 0);
      EXPECT_EQ(axes(x, rest), "part") << a << ' ' << b;
    }
  }
  for (std::int64_t step = 2; step < 300; ++step) {
    Layout stepped = marked({2 * step, 2});
    stepped.strides[0] *= step;
    stepped.shape[0] = 2;
    EXPECT_FALSE(axes_of({2 * step, 2}, stepped)) << step;
  }
}

Tensor random_view(const Tensor& x, std::mt19937& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  const int rank = x.rank(), axis = rank > 0 ? static_cast<int>(pick(0, rank - 1)) : 0;
  switch (pick(0, 7)) {
    case 0: return rank < 5 ? unsqueeze(x, static_cast<int>(pick(0, rank))) : x;
    case 1: return rank > 1 ? transpose(x, axis, static_cast<int>(pick(0, rank - 1))) : x;
    case 2: return rank > 0 ? select(x, axis, pick(0, x.shape()[axis] - 1)) : x;
    case 3: return rank > 0 ? slice(x, axis, {.begin = 0, .end = pick(1, x.shape()[axis]), .step = pick(1, 2)}) : x;
    case 4: return rank > 0 ? flip(x, {axis}) : x;
    case 5: return rank > 1 ? diagonal(x) : x;
    case 6: {
      Shape wide = x.shape();
      for (auto& size : wide) size = size == 1 ? pick(1, 3) : size;
      return expand(x, wide);
    }
    default: return reshape(x, {numel(x.shape())});
  }
}

// A view that is called the whole has the elements that its axes name.
TEST(ViewAxes, RandomViewsHaveTheElementsThatTheirAxesName) {
  std::mt19937 random(16);
  int whole = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    Shape shape;
    for (int i = 0; i < 1 + trial % 4; ++i) shape.push_back(1 + static_cast<std::int64_t>(random() % 3));
    const Tensor base = zeros(shape);
    Tensor view = base;
    for (int i = 0; i < 1 + trial % 5; ++i) view = random_view(view, random);
    const auto probe = seen(*view.node(), *base.node(), marked(shape));
    const auto found = probe ? axes_of(shape, *probe) : std::nullopt;
    const auto real = seen(*view.node(), *base.node(), Layout::dense(shape));
    if (!found || !real) continue;
    ++whole;
    EXPECT_EQ(real->offset, 0);
    for (int i = 0; i < view.rank(); ++i) {
      const int axis = (*found)[static_cast<std::size_t>(i)];
      if (view.shape()[i] == 1) continue;
      EXPECT_EQ(real->strides[i], axis < 0 ? 0 : dense_strides(shape)[axis]) << to_string(shape) << " as " << to_string(view.shape());
    }
  }
  EXPECT_GT(whole, 400);
}

// Strides do not express windows that overlap as one axis: a copy of them is added, and not the tensor of as many elements below it.
TEST(ViewAxes, ABiasBehindOverlappingWindowsIsTheirCopy) {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0});
  const Tensor flat = slice(reshape(windows(x * 1.0, {0}, {3}), {9}), 0, {0, 5});
  EXPECT_EQ(linear(tensor({10.0}), reshape(flat, {5, 1}), flat).to_host<double>(), (std::vector<double>{11, 22, 33, 22, 33}));
  EXPECT_EQ((matmul(ones({5, 1}, f64), ones({1, 1}, f64)) + reshape(flat, {5, 1})).to_host<double>(), (std::vector<double>{2, 3, 4, 3, 4}));
}

}  // namespace
}  // namespace tegula
