// Sorting: stability, NaN, order, gradients, errors.

#include "tegula/ops/rows/sort.h"

#include <cmath>
#include <cstring>

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

TEST(Sort, IsStableAndPutsNanLast) {
  const Tensor x = doubles({3, 1, kNan, 1, -kInfinite, 3});
  const Sorted up = tegula::sort(x);
  expect_values(up.values, {-kInfinite, 1, 1, 3, 3, kNan});
  expect_values(up.indices, {4, 1, 3, 0, 5, 2});
  const Sorted down = tegula::sort(x, 0, Order::Descending);
  expect_values(down.values, {kNan, 3, 3, 1, 1, -kInfinite});
  expect_values(down.indices, {2, 0, 5, 1, 3, 4});
  EXPECT_EQ(down.indices.dtype(), i64);
}

TEST(Sort, AnyAxisAnyDtype) {
  const Tensor x = doubles({3, 0, 1, 2, 2, 5}, {3, 2});
  expect_values(tegula::sort(x, 0).values, {1, 0, 2, 2, 3, 5});
  expect_values(argsort(x, 0), {1, 0, 2, 1, 0, 2});
  expect_values(tegula::sort(tensor<std::uint8_t>(std::vector<std::uint8_t>{200, 3, 100}, {3})).values, {3, 100, 200});
  expect_values(argsort(tensor<std::int64_t>({(std::int64_t{1} << 60) + 1, std::int64_t{1} << 60})), {1, 0});
  expect_values(argsort(counted({3}, boolean), 0, Order::Descending), {1, 2, 0});
  expect_values(tegula::sort(doubles({4}, {})).values, {4});
  expect_values(tegula::sort(zeros({0, 2}), 0).values, {});
}

TEST(Sort, TopAndMiddle) {
  const Tensor x = doubles({5, 1, 4, 2, 9, 8, 7, 6}, {2, 4});
  const Sorted top = topk(x, 2);
  expect_values(top.values, {5, 4, 9, 8});
  expect_values(top.indices, {0, 2, 0, 1});
  expect_values(topk(x, 1, 0, Order::Ascending).values, {5, 1, 4, 2});
  expect_values(kthvalue(x, 2).values, {2, 7});
  EXPECT_EQ(kthvalue(x, 2).indices.shape(), (Shape{2}));
  expect_values(median(x), {2, 7});
  expect_values(median(doubles({1, kNan, 0})), {kNan});
  EXPECT_EQ(median(x, 0, Keep::Yes).shape(), (Shape{1, 4}));
  expect_part(refusal([&] { topk(x, 5); }), "topk: got k = 5 along axis -1 of shape (2, 4), expected at most the axis's size, 4");
  expect_part(refusal([&] { kthvalue(x, 0); }), "kthvalue: got k = 0");
  expect_part(refusal([&] { tegula::sort(x, 2); }), "sort: got axis 2 for shape (2, 4)");
}

TEST(Sort, GradientGoesWhereTheValueCameFrom) {
  const Tensor x = doubles({3, 1, 2});
  expect_values(grad(sum(tegula::sort(x).values * doubles({10, 20, 30})), x), {30, 10, 20});
  expect_values(grad(sum(topk(x, 1).values), x), {1, 0, 0});
}

TEST(Sort, TheFirstFewOfALongLineAreThoseOfTheWholeOrder) {
  // Equals (whole numbers), NaN and infinities.
  std::vector<float> numbers(3 * 1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7919 % 97) - 48;
  for (const std::size_t i : {5u, 1700u, 2999u}) numbers[i] = std::nanf(""), numbers[i - 3] = INFINITY, numbers[i - 2] = -INFINITY;
  const Tensor x = tensor(numbers, {3, 1000});
  for (const Order order : {Order::Descending, Order::Ascending}) {
    for (const std::int64_t k : {1, 7, 60, 250, 251, 1000}) {
      const auto [values, indices] = topk(x, k, 1, order);
      const Tensor all = argsort(x, 1, order);
      EXPECT_EQ(indices.to_host<std::int64_t>(), slice(all, 1, {0, k}).to_host<std::int64_t>()) << k;
      const auto got = values.to_host<float>(), expected = slice(tegula::sort(x, 1, order).values, 1, {0, k}).to_host<float>();
      EXPECT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(float))) << k;
    }
  }
  for (const std::int64_t k : {1, 100, 249, 700})
    EXPECT_EQ(kthvalue(x, k, 1).indices.to_host<std::int64_t>(), select(argsort(x, 1), 1, k - 1).to_host<std::int64_t>()) << k;
}

}  // namespace
}  // namespace tegula
