// Indexing: values by hand, negative and repeated indices, out-of-range errors at the user's line.

#include "tegula/ops/shape/index.h"

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

Tensor integers(const std::vector<std::int64_t>& values, const Shape& shape) { return tensor(values, shape); }

TEST(Index, TakesRowsColumnsAndElements) {
  const Tensor x = counted({3, 4});
  expect_values(index(x, integers({2, -3}, {2})), {8, 9, 10, 11, 0, 1, 2, 3});
  expect_values(take(x, integers({1, -1}, {2}), 1), {1, 3, 5, 7, 9, 11});
  expect_values(take(x, integers({-1, 5}, {2, 1})), {11, 5});
  EXPECT_EQ(take(x, integers({0, 1, 2, 0}, {2, 2}), 1).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(index(x, 1).shape(), (Shape{4}));
  expect_values(gather(x, 1, integers({3, 0, 1, 1}, {2, 2})), {3, 0, 5, 5});
  expect_values(take_along_axis(x, integers({2, 0, 1, -1}, {1, 4}), 0), {8, 1, 6, 11});
}

TEST(Index, EmbeddingGradientAddsRepeats) {
  const Tensor table = counted({4, 3});
  expect_values(grad(sum(index(table, integers({1, 1, -1}, {3}))), table), {0, 0, 0, 2, 2, 2, 0, 0, 0, 1, 1, 1});
  // Many halves are added in f32.
  const Tensor halves = counted({2, 1}, f16);
  expect_values(grad(sum(index(halves, zeros({5000}, i64))), halves), {5000, 0});
}

TEST(Index, ScattersAndAdds) {
  const Tensor x = zeros({2, 4}, f64), at = integers({0, -1, 0, 2}, {2, 2}), from = doubles({1, 2, 3, 4}, {2, 2});
  expect_values(scatter(x, 1, at, from), {1, 0, 0, 2, 3, 0, 4, 0});
  expect_values(scatter(x, 1, at, 7), {7, 0, 0, 7, 7, 0, 7, 0});
  expect_values(scatter_add(ones({2, 4}, f64), 1, integers({0, 0, 1, 1}, {2, 2}), from), {4, 1, 1, 1, 1, 8, 1, 1});
  expect_values(index_add(ones({3, 2}, f64), 0, integers({2, 2}, {2}), from), {1, 1, 1, 1, 5, 7});
  expect_values(scatter(counted({1, 3}), 1, integers({1, 1, 1}, {1, 3}), doubles({7, 8, 9}, {1, 3})), {0, 9, 2});  // the last stays
  // Only the corner that the index covers changes.
  expect_values(scatter(counted({2, 3}), 0, integers({1}, {1, 1}), 9), {0, 1, 2, 9, 4, 5});
  std::vector<std::int64_t> places(6000);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i % 2);
  expect_values(scatter(zeros({1, 2}, f64), 1, integers(places, {1, 6000}), counted({1, 6000})), {5998, 5999});
  EXPECT_EQ(scatter_add(zeros({3}, i8), 0, integers({1, 1}, {2}), 100).to_host<int>(), (std::vector<int>{0, -56, 0}));  // wraps
}

TEST(Index, MasksAndOneHot) {
  expect_values(masked_fill(counted({2, 2}), counted({2}, boolean), -1), {0, -1, 2, -1});
  expect_values(one_hot(integers({1, 0, 5}, {3}), 2), {0, 1, 1, 0, 0, 0});
  EXPECT_EQ(one_hot(integers({1}, {1}), 2, f32).dtype(), f32);
}

TEST(Index, OutOfRangeNamesIndexAxisAndLine) {
  const Tensor x = counted({3, 4});
  const int line = __LINE__ + 1;
  const Tensor y = index(x, integers({1, 3, 0, 1, 2}, {5}));  // a graph of its own
  const std::string text = refusal([&] { y.to_host(); });
  expect_part(text, "index: got index 3 for axis 0 of size 3, where it must lie in [-3, 2]");
  expect_part(text, "index_test.cpp:" + std::to_string(line));
  for (std::int64_t wrong : {-5, 4, 1000000000}) {
    expect_part(refusal([&] { take(x, integers({0, wrong}, {2}), 1).to_host(); }),
                "index " + std::to_string(wrong) + " for axis 1 of size 4");
    expect_part(refusal([&] { scatter(x, 1, integers({wrong}, {1, 1}), 1).to_host(); }), "index " + std::to_string(wrong));
    expect_part(refusal([&] { scatter_add(x, 1, integers({wrong}, {1, 1}), 1).to_host(); }),
                "scatter_add: got index " + std::to_string(wrong));
    expect_part(refusal([&] { gather(x, 0, integers({0, 0, 0, wrong}, {1, 4})).to_host(); }),
                wrong == -5 || wrong == 4 || wrong > 4 ? "for axis 0 of size 3" : "");
  }
  expect_part(refusal([] { index(zeros({0, 2}), zeros({1}, i64)).to_host(); }), "axis 0, which is empty");
}

TEST(Index, RefusalsNameShapesAndDtypes) {
  const Tensor x = counted({3, 4});
  expect_part(refusal([&] { index(x, counted({2})); }), "index: got an index of dtype f64, expected an integer dtype");
  expect_part(refusal([&] { index(x, counted({2}, boolean)); }), "use where() or masked_fill()");
  expect_part(refusal([&] { gather(x, 0, zeros({2, 5}, i64)); }), "gather: got an index of shape (2, 5) for shape (3, 4)");
  expect_part(refusal([&] { scatter(x, 0, zeros({2, 2}, i64), counted({3})); }),
              "scatter: got a source of shape (3,), expected a number, or the index's shape (2, 2)");
  expect_part(refusal([&] { index_select(x, 0, zeros({2, 2}, i64)); }), "take() accepts any shape");
  expect_part(refusal([&] { take_along_axis(x, zeros({2, 2}, i64), 0); }), "take_along_axis: got shapes (3, 4) and (2, 2)");
  expect_part(refusal([&] { masked_fill(x, x, 1); }), "masked_fill: got a mask of dtype f64");
}

TEST(Index, ScatteringNothingReadsNothing) {
  const Tensor x = counted({2, 2, 3}), none = integers({}, {0, 2, 3});
  EXPECT_EQ(scatter(x, 0, none, zeros({0, 2, 3}, f64)).to_host<double>(), x.to_host<double>());
  EXPECT_EQ(scatter_add(x, 0, none, zeros({0, 2, 3}, f64)).to_host<double>(), x.to_host<double>());
}

}  // namespace
}  // namespace tegula
