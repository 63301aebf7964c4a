// Places in sorted lines, quantiles, counts, distances.

#include "tegula/ops/rows/search.h"

#include "tegula/compile/jit.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/distance.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

TEST(Search, FindsPlacesInSortedValues) {
  const Tensor line = doubles({1, 3, 3, 5});
  expect_values(searchsorted(line, doubles({0, 3, 4, 9})), {0, 1, 3, 4});
  expect_values(searchsorted(line, doubles({0, 3, kNan}), Side::Right), {0, 3, 4});
  expect_values(searchsorted(doubles({1, kNan}), doubles({kNan, 2})), {1, 1});
  expect_values(searchsorted(doubles({1, 3, 0, 9}, {2, 2}), doubles({2, 5, 2, 5}, {2, 2})), {1, 2, 1, 1});
  expect_values(bucketize(doubles({0, 1, 2, 7}), doubles({1, 2, 5})), {0, 0, 1, 3});
  expect_values(bucketize(doubles({0, 1, 2, 7}), doubles({1, 2, 5}), Side::Right), {0, 1, 2, 3});
  expect_part(refusal([] { searchsorted(counted({2, 3}), counted({3, 2})); }),
              "searchsorted: got a sorted tensor of shape (2, 3) for values of shape (3, 2), expected rank 1, or the values' leading axes");
  expect_part(refusal([] { searchsorted(doubles({1}, {}), doubles({1})); }), "a sorted tensor of shape ()");
  expect_part(refusal([] { bucketize(doubles({1}), counted({2, 3})); }), "bucketize: got boundaries of rank 2");
}

TEST(Search, LongLinesAreSearchedByHalvesWithTheSameResult) {
  Generator generator(5);
  for (const std::int64_t n : {257, 511, 512, 513, 1000}) {
    const Tensor line = tegula::sort(cast(randint(0, 300, {n}, &generator), f64)).values;
    const Tensor values = concat({cast(randint(-2, 302, {200}, &generator), f64), doubles({kNan, kInfinite, -kInfinite})});
    for (const Side side : {Side::Left, Side::Right}) {
      const Tensor counted_all = sum(side == Side::Left ? line < expand_dims(values, 1) || isnan(expand_dims(values, 1))
                                                        : line <= expand_dims(values, 1) || isnan(expand_dims(values, 1)),
                                     1);
      expect_values(searchsorted(line, values, side), counted_all.to_host<double>());
    }
  }
}

TEST(Quantile, IsBetweenTheElementsAroundIt) {
  const Tensor x = doubles({4, 1, 3, 2});
  expect_values(quantile(x, 0.5), {2.5});
  expect_values(quantile(x, {0.0, 0.25, 1.0}), {1, 1.75, 4});
  const auto at = [&](QuantileMethod method) { return quantile(x, 0.25, 0, {.method = method}); };
  expect_values(at(QuantileMethod::Lower), {1});
  expect_values(at(QuantileMethod::Higher), {2});
  expect_values(at(QuantileMethod::Midpoint), {1.5});
  expect_values(at(QuantileMethod::Nearest), {2});
  expect_values(quantile(doubles({1, 2, 3}), 0.25, 0, {.method = QuantileMethod::Nearest}), {1});  // 0.5: the even one
  expect_values(quantile(counted({2, 3}), 0.5, 0), {1.5, 2.5, 3.5});
  EXPECT_EQ(quantile(counted({2, 3}), 0.5, 0, {.keep = Keep::Yes}).shape(), (Shape{1, 3}));
  EXPECT_EQ(quantile(counted({2, 3}), {0.1, 0.9}, 1, {.keep = Keep::Yes}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(quantile(counted({2, 3}), 0.5, {}, {.keep = Keep::Yes}).shape(), (Shape{1, 1}));
  expect_values(quantile(doubles({7}, {}), 0.3), {7});
}

TEST(Quantile, NanAndInfinities) {
  expect_values(quantile(doubles({1, kNan, 2, 3}, {2, 2}), 0.5, 1), {kNan, 2.5});
  expect_values(quantile(doubles({kInfinite, kInfinite, 1, 0}), {0.0, 1.0, 0.9}), {0, kInfinite, kInfinite});
}

TEST(Quantile, Errors) {
  expect_part(refusal([] { quantile(counted({3}), 1.5); }), "quantile: got q = 1.5");
  expect_part(refusal([] { quantile(counted({3}), kNan); }), "a number from 0 to 1");
  expect_part(refusal([] { quantile(zeros({0, 3}), 0.5, 0); }), "at least one element along the axis");
  expect_part(refusal([] { quantile(counted({3}, i64), 0.5); }), "quantile: got dtype i64");
  expect_part(refusal([] { quantile(counted({3}), std::vector<double>{}); }), "no q");
}

TEST(Bincount, CountsAndAddsWeights) {
  const Tensor x = tensor<std::int64_t>({3, 0, 3, 1});
  expect_values(bincount(x, 5), {1, 1, 0, 2, 0});
  EXPECT_EQ(bincount(x, 5).dtype(), i64);
  expect_values(bincount(x, 4, doubles({0.5, 2, 0.25, 4})), {2, 4, 0, 0.75});
  expect_values(bincount(zeros({0}, i64), 2), {0, 0});
  const Tensor w = doubles({1, 2, 3, 4});
  expect_values(grad(sum(bincount(x, 4, w) * doubles({10, 20, 30, 40})), w), {40, 10, 40, 20});
}

TEST(Bincount, Errors) {
  expect_part(refusal([] { bincount(tensor<std::int64_t>({1, -1}), 3).to_host(); }), "bincount: got label -1, expected one in [0, 3)");
  expect_part(refusal([] { bincount(tensor<std::int64_t>({1, 3}), 3).to_host(); }), "bincount: got label 3, expected one in [0, 3)");
  expect_part(refusal([] { bincount(counted({3}), 3); }), "bincount: got f64 of shape (3,), expected integers of rank 1");
  expect_part(refusal([] { bincount(counted({3}, i64), -1); }), "length -1");
  expect_part(refusal([] { bincount(counted({3}, i64), 3, counted({2})); }), "a number for each value");
}

TEST(Unbind, IsTheInverseOfStack) {
  const Tensor x = counted({2, 3});
  const std::vector<Tensor> rows = unbind(x), columns = unbind(x, -1);
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(columns.size(), 3u);
  expect_values(rows[1], {3, 4, 5});
  expect_values(columns[2], {2, 5});
  expect_values(stack(columns, -1), x.to_host<double>());
  EXPECT_TRUE(unbind(zeros({0, 2})).empty());
  expect_part(refusal([&] { unbind(x, 2); }), "unbind: got axis 2 for shape (2, 3)");
}

TEST(Distance, CosineSimilarity) {
  const Tensor a = doubles({3, 4, 0, 1}, {2, 2}), b = doubles({4, 3, 0, -2}, {2, 2});
  expect_values(cosine_similarity(a, b), {24. / 25, -1}, 1e-15);
  expect_values(cosine_similarity(a, b, 0), {1, 10. / std::sqrt(17. * 13)}, 1e-15);
  expect_values(cosine_similarity(zeros({1, 2}), ones({1, 2})), {0});  // no direction
  expect_part(refusal([&] { cosine_similarity(a, counted({3, 2})); }), "cosine_similarity: got shapes (2, 2) and (3, 2)");
  expect_part(refusal([&] { cosine_similarity(counted({2}, i64), a); }), "cosine_similarity: got dtype i64");
}

TEST(Distance, Cdist) {
  const Tensor a = doubles({0, 0, 3, 4}, {2, 2}), b = doubles({0, 0, 3, 0, 0, 1}, {3, 2});
  expect_values(cdist(a, b), {0, 3, 1, 5, 4, std::sqrt(18.)}, 1e-15);
  expect_values(cdist(a, b, 1), {0, 3, 1, 7, 4, 6});
  expect_values(cdist(a, b, kInfinite), {0, 3, 1, 4, 4, 3});
  expect_values(cdist(a, b, 0), {0, 1, 1, 2, 1, 2});
  expect_values(grad(sum(cdist(a, a)), a), {-1.2, -1.6, 1.2, 1.6}, 1e-15);  // none from the zeros
  // Near points far from the origin: |a|² + |b|² - 2ab would have no digit left.
  const Tensor far = tensor<float>({1000.f, 1000.001f}, {2, 1});
  EXPECT_NEAR(cdist(far, far).to_host<double>()[1], 1000.001f - 1000.f, 1e-9);
  expect_part(refusal([&] { cdist(a, counted({3, 3})); }), "cdist: got shapes (2, 2) and (3, 3), expected (…, P, D) and (…, R, D)");
  expect_part(refusal([&] { cdist(a, b, -1); }), "cdist: got p = -1");
}

// --- Drawing by weight ---

TEST(Multinomial, DrawsInProportionToTheWeights) {
  Generator generator(3);
  const Tensor weights = doubles({1, 0, 3, 0, 4});
  const Values counts = bincount(multinomial(weights, 80000, Replacement::Yes, &generator), 5).to_host<double>();
  const Values expected{10000, 0, 30000, 0, 40000};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(counts[i], expected[i], 5 * std::sqrt(expected[i])) << i;
}

TEST(Multinomial, WithoutReplacementEachComesOnceAndFirstInProportion) {
  Generator generator(4);
  const Tensor weights = expand(doubles({1, 0, 3, 4}), {40000, 4});
  const Tensor drawn = multinomial(weights, 3, Replacement::No, &generator);
  expect_values(sum(drawn, 1) == 0 + 2 + 3, Values(40000, 1));  // all but the one of weight 0
  const Values first = bincount(select(drawn, 1, 0), 4).to_host<double>();
  const Values expected{5000, 0, 15000, 20000};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(first[i], expected[i], 5 * std::sqrt(expected[i])) << i;
}

TEST(Multinomial, DrawsAnewInAJitAndRepeatsWithTheSeed) {
  auto draw = jit([](const Tensor& w) { return multinomial(w, 64, Replacement::Yes); });
  const Tensor w = ones({1000});
  manual_seed(9);
  const Values first = draw(w).to_host<double>(), second = draw(w).to_host<double>();
  EXPECT_NE(first, second);
  manual_seed(9);
  EXPECT_EQ(draw(w).to_host<double>(), first);
}

TEST(Multinomial, Errors) {
  const auto computed = [](const Tensor& w, std::int64_t count, Replacement r) {
    return refusal([&] { multinomial(w, count, r).to_host(); });
  };
  expect_part(computed(doubles({1, -1}), 1, Replacement::Yes), "multinomial: got a weight that is negative, infinite or NaN");
  expect_part(computed(doubles({1, kNan}), 1, Replacement::No), "a weight that is negative, infinite or NaN");
  expect_part(computed(doubles({1, kInfinite}), 1, Replacement::Yes), "a weight that is negative, infinite or NaN");
  expect_part(computed(doubles({0, 0}), 1, Replacement::Yes), "multinomial: got 0 weights above 0");
  expect_part(computed(doubles({1, 0, 2}), 3, Replacement::No), "multinomial: got 2 weights above 0");
  expect_part(computed(doubles({1, 2}), 3, Replacement::No), "count 3 of 2 weights, expected at most as many as weights");
  expect_part(computed(counted({2, 2, 2}), 1, Replacement::No), "weights of shape (2, 2, 2)");
  expect_part(computed(counted({2}, i64), 1, Replacement::No), "multinomial: got dtype i64");
}

}  // namespace
}  // namespace tegula
