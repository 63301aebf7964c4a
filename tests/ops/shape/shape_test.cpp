// Views, joins and creation: values by hand, edges, errors.

#include "tegula/ops/shape/shape.h"

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

TEST(Creation, RangesCountAsInPyTorch) {
  expect_values(arange(4), {0, 1, 2, 3});
  EXPECT_EQ(arange(4).dtype(), i64);
  expect_values(arange(5, 0, -2), {5, 3, 1});
  expect_values(arange(0, 1, 0.25), {0, 0.25, 0.5, 0.75});
  EXPECT_EQ(arange(0, 1, 0.25).dtype(), f32);
  expect_values(arange(3, 3), {});
  expect_part(refusal([] { arange(0, 3, -1); }), "expected a step that leads from begin to end");
  expect_part(refusal([] { arange(0, 3, 0); }), "arange: got begin");
}

TEST(Creation, LinspaceHitsBothEnds) {
  expect_values(linspace(0, 1, 5, f64), {0, 0.25, 0.5, 0.75, 1});
  const Tensor long_one = linspace(-0.1, 0.7, 1001);
  EXPECT_EQ(long_one.to_host().front(), -0.1f);
  EXPECT_EQ(long_one.to_host().back(), 0.7f);
  expect_values(linspace(3, 9, 1, f64), {3});
  expect_values(linspace(3, 9, 0, f64), {});
}

TEST(Creation, ConstantsTakeTheDtypeOfTheirNumber) {
  EXPECT_EQ(full({2}, 3).dtype(), i64);
  EXPECT_EQ(full({2}, 3.5).dtype(), f32);
  EXPECT_EQ(full({2}, true).dtype(), boolean);
  expect_values(full({2, 2}, 3, f16), {3, 3, 3, 3});
  expect_values(eye(2, 3), {1, 0, 0, 0, 1, 0});
  expect_values(iota({2, 3}, 0), {0, 0, 0, 1, 1, 1});
  EXPECT_EQ(zeros_like(arange(3)).dtype(), i64);
  expect_values(ones_like(arange(3), f32), {1, 1, 1});
  expect_part(refusal([] { zeros({2, -1}); }), "zeros: got shape (2, -1)");
}

TEST(Shape, SlicesFollowPython) {
  const Tensor x = counted({6});
  expect_values(slice(x, 0, {1, -1}), {1, 2, 3, 4});
  expect_values(slice(x, 0, {.step = -1}), {5, 4, 3, 2, 1, 0});
  expect_values(slice(x, 0, {4, std::nullopt, -2}), {4, 2, 0});
  expect_values(slice(x, 0, {-2}), {4, 5});
  expect_values(slice(x, 0, {-100, 100, 4}), {0, 4});
  expect_values(slice(x, 0, {4, 2}), {});
  expect_values(slice(x, 0, {0, 3, -1}), {});
  expect_values(slice(x, 0, {100, -100, -3}), {5, 2});
  expect_values(slice(counted({3, 4}), {{2, 0, -1}, {1, 3}}), {9, 10, 5, 6});
  expect_part(refusal([&] { slice(x, 0, {.step = 0}); }), "slice: got a step of 0");
  expect_part(refusal([&] { slice(x, {{0, 1}, {0, 1}}); }), "2 slices for shape (6,)");
}

TEST(Shape, GradientOfASliceIsZeroElsewhere) {
  const Tensor x = counted({6});
  expect_values(grad(sum(slice(x, 0, {4, std::nullopt, -2}) * doubles({1, 2, 3})), x), {3, 0, 2, 0, 1, 0});
}

TEST(Shape, WindowsOverlap) {
  const Tensor x = counted({5});
  const Tensor y = windows(x, {0}, {3});
  EXPECT_EQ(y.shape(), (Shape{3, 3}));
  expect_values(y, {0, 1, 2, 1, 2, 3, 2, 3, 4});
  expect_values(grad(sum(y), x), {1, 2, 3, 2, 1});
  expect_values(windows(x, {0}, {2}, {.stride = {2}, .dilation = {2}}), {0, 2, 2, 4});
  EXPECT_EQ(windows(counted({2, 6, 7}), {1, 2}, {3, 2}).shape(), (Shape{2, 4, 6, 3, 2}));
  expect_part(refusal([&] { windows(x, {0}, {6}); }), "windows: got window (6,)");
}

TEST(Shape, RefusalsNameShapes) {
  const Tensor x = counted({2, 3});
  expect_part(refusal([&] { reshape(x, {4, -1}); }), "reshape: got shape (2, 3) (6 elements) to reshape to (4, -1)");
  expect_part(refusal([&] { reshape(x, {-1, -1}); }), "at most one -1");
  expect_part(refusal([&] { reshape(x, {7}); }), "as many elements");
  expect_part(refusal([&] { permute(x, {0, 0}); }), "permute: got order (0, 0) for shape (2, 3), expected each axis once");
  expect_part(refusal([&] { transpose(x, 0, 2); }), "transpose: got axis 2 for shape (2, 3), expected an axis from -2 to 1");
  expect_part(refusal([&] { expand(x, {2, 4}); }), "expand: got shape (2, 3) to expand to (2, 4)");
  expect_part(refusal([&] { select(x, 1, 3); }), "select: got index 3 for axis 1 of shape (2, 3), expected an index from -3 to 2");
  expect_part(refusal([&] { flatten(x, 1, 0); }), "flatten: got axes 1 to 0");
  expect_part(refusal([&] { diagonal(x, 0, 1, 1); }), "diagonal: got axis 1 twice");
}

TEST(Shape, AnErrorNamesTheUsersLine) {
  const Tensor x = counted({2, 3});
  const int line = __LINE__ + 1;
  const std::string text = refusal([&] { windows(x, {0}, {9}); });
  expect_part(text, "shape_test.cpp:" + std::to_string(line));
}

TEST(Join, ConcatPromotesAndChecks) {
  const Tensor x = counted({2, 2}), y = counted({2, 1}, f32);
  EXPECT_EQ(concat({x, y}, 1).dtype(), f64);
  expect_values(concat({x, y}, 1), {0, 1, 0, 2, 3, 1});
  expect_values(stack({x, x}, 2), {0, 0, 1, 1, 2, 2, 3, 3});
  expect_part(refusal([&] { concat({x, y}, 0); }), "concat: got shapes (2, 2) and (2, 1), expected sizes that agree on all axes but 0");
  expect_part(refusal([&] { stack({x, y}); }), "stack: got shapes (2, 2) and (2, 1), expected equal shapes");
  expect_part(refusal([&] { concat(std::vector<Tensor>{}); }), "concat: got no tensors");
}

TEST(Join, SplitGivesViewsThatAddUp) {
  const auto parts = split(counted({7}), 3);
  ASSERT_EQ(parts.size(), 3u);
  expect_values(parts[2], {6});
  EXPECT_EQ(chunk(counted({7}), 3)[0].numel(), 3);
  EXPECT_EQ(chunk(counted({5}), 4).size(), 3u);  // as PyTorch: pieces of 2
  expect_part(refusal([] { split(counted({7}), std::vector<std::int64_t>{3, 3}); }),
              "split: got sizes (3, 3) for axis 0 of shape (7,), expected sizes that add up to 7");
}

TEST(Join, PadsInEveryMode) {
  const Tensor x = counted({3});
  expect_values(pad(x, {{1, 2}}, {.value = 9}), {9, 0, 1, 2, 9, 9});
  expect_values(pad(x, {{2, 1}}, {.mode = PadMode::Reflect}), {2, 1, 0, 1, 2, 1});
  expect_values(pad(x, {{2, 1}}, {.mode = PadMode::Replicate}), {0, 0, 0, 1, 2, 2});
  expect_values(pad(x, {{2, 1}}, {.mode = PadMode::Circular}), {1, 2, 0, 1, 2, 0});
  expect_values(pad(x, {{-1, 1}}), {1, 2, 0});
  expect_values(pad(counted({2, 2}), {{1, 0}, {0, 1}}), {0, 0, 0, 0, 1, 0, 2, 3, 0});
  expect_part(refusal([&] { pad(x, {{3, 0}}, {.mode = PadMode::Reflect}); }), "expected at most 2 in this mode");
  expect_part(refusal([&] { pad(x, {{-2, -2}}); }), "pad: got widths that take more");
  expect_part(refusal([&] { pad(x, {}); }), "0 widths for shape (3,)");
}

TEST(Join, RepeatsRollsAndTriangles) {
  const Tensor x = counted({2, 2});
  expect_values(repeat(x, {1, 2}), {0, 1, 0, 1, 2, 3, 2, 3});
  EXPECT_EQ(repeat(x, {3, 1, 2}).shape(), (Shape{3, 2, 4}));
  expect_values(repeat_interleave(x, 2, 0), {0, 1, 0, 1, 2, 3, 2, 3});
  expect_values(repeat_interleave(x, 2), {0, 0, 1, 1, 2, 2, 3, 3});
  expect_values(roll(counted({5}), 2, 0), {3, 4, 0, 1, 2});
  expect_values(roll(counted({5}), -6, 0), {1, 2, 3, 4, 0});
  expect_values(tril(counted({3, 3})), {0, 0, 0, 3, 4, 0, 6, 7, 8});
  expect_values(triu(counted({3, 3}), 1), {0, 1, 2, 0, 0, 5, 0, 0, 0});
  expect_values(diag(doubles({5, 6}), 1), {0, 5, 0, 0, 0, 6, 0, 0, 0});
  expect_values(diag(doubles({5, 6}), -1), {0, 0, 0, 5, 0, 0, 0, 6, 0});
  expect_values(diag(counted({2, 3}), 1), {1, 5});
  // The dead triangle gives no gradient, whatever it holds.
  const Tensor y = doubles({1, kNan, 2, 3}, {2, 2});
  expect_values(grad(sum(tril(y)), y), {1, 0, 1, 1});
}

TEST(Join, CopiesOfManyTiles) {
  const std::int64_t n = 5000;
  const Tensor x = counted({3, n}), y = concat({x, slice(x, 1, {0, 1}), x}, 1);
  EXPECT_EQ(select(y, 1, n).to_host<double>(), (Values{0, 5000, 10000}));
  EXPECT_EQ(select(y, 1, 2 * n).to_host<double>(), (Values{4999, 9999, 14999}));
  const Tensor z = pad(x, {{1, 0}, {3, 4}});
  EXPECT_EQ(select(z, 1, n + 2).to_host<double>(), (Values{0, 4999, 9999, 14999}));
}

}  // namespace
}  // namespace tegula
