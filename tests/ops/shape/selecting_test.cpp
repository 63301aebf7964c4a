// Selections with a bound and a count, and scatter with products, minima and maxima.
#include "tegula/ops/shape/selecting.h"

#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <algorithm>
#include <cmath>

#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

TEST(Nonzero, GivesPlacesInOrderAndHowManyThereAre) {
  const Tensor x = tensor({0.F, 2.F, 0.F, -1.F, 0.F, 3.F}, {2, 3});
  const Places all = nonzero(x, 5), first = nonzero(x, 2);
  test::expect_close(all.index, {0, 1, 1, 0, 1, 2, 0, 0, 0, 0}, 0);
  EXPECT_EQ(all.count.item<std::int64_t>(), 3);
  test::expect_close(first.index, {0, 1, 1, 0}, 0);
  EXPECT_EQ(first.count.item<std::int64_t>(), 3);
  EXPECT_EQ(nonzero(Tensor(1.F), 2).index.shape(), (Shape{2, 0}));
  EXPECT_EQ(nonzero(zeros({0, 3}), 2).count.item<std::int64_t>(), 0);
}

TEST(Select, KeepsSlicesAndElements) {
  const Tensor x = reshape(arange(6.0), {2, 3});
  const Selected columns = compress(x, tensor({true, false, true}), 3, 1);
  test::expect_close(columns.values, {0, 2, 0, 3, 5, 0}, 0);
  EXPECT_EQ(columns.count.item<std::int64_t>(), 2);
  const Selected some = masked_select(x, x > 1, 4);
  test::expect_close(some.values, {2, 3, 4, 5}, 0);
  EXPECT_EQ(masked_select(x, x > 1, 2).count.item<std::int64_t>(), 4);
  EXPECT_HAS_MESSAGE(compress(x, tensor({true, false}), 3, 1), "one element for each of the 3 slices");
  EXPECT_HAS_MESSAGE(nonzero(x, -1), "room for -1 elements, expected at least 0");
}

TEST(Unique, GivesValuesPlacesAndCounts) {
  const Tensor x = tensor({3, 1, 3, 2, 1, 3}, {2, 3});
  const UniqueValues out = unique(x, 5);
  test::expect_close(out.values, {1, 2, 3, 0, 0}, 0);
  test::expect_close(out.first, {1, 3, 0, 0, 0}, 0);
  test::expect_close(out.inverse, {2, 0, 2, 1, 0, 2}, 0);
  test::expect_close(out.counts, {2, 1, 3, 0, 0}, 0);
  EXPECT_EQ(out.inverse.shape(), x.shape());
  EXPECT_EQ(out.count.item<std::int64_t>(), 3);
  const UniqueValues fewer = unique(x, 2);
  test::expect_close(fewer.values, {1, 2}, 0);
  test::expect_close(fewer.counts, {2, 1}, 0);
  EXPECT_EQ(fewer.count.item<std::int64_t>(), 3);
  EXPECT_EQ(unique(tensor({NAN, 1.F, NAN}), 3).count.item<std::int64_t>(), 3);
  Variable w = tensor({2.F, 1.F, 2.F});
  test::expect_close(grad(sum(unique(w.read(), 3).values * tensor({5.F, 7.F, 9.F})), w), {7, 5, 0}, 0);
}

/// One update after the other.
std::vector<double> by_loops(const Tensor& x, int axis, const Tensor& index, const Tensor& source, ScatterReduction reduction) {
  std::vector<double> out = x.to_host<double>();
  const auto places = index.to_host<std::int64_t>();
  const auto values = source.to_host<double>();
  const Strides from = dense_strides(index.shape()), to = dense_strides(x.shape());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t at = 0;
    for (int k = 0; k < x.rank(); ++k) {
      const std::int64_t place = static_cast<std::int64_t>(i) / from[k] % index.shape()[k];
      at += (k == axis ? (places[i] + x.shape()[k]) % x.shape()[k] : place) * to[k];
    }
    double& one = out[static_cast<std::size_t>(at)];
    switch (reduction) {
      case ScatterReduction::Sum: one += values[i]; break;
      case ScatterReduction::Product: one *= values[i]; break;
      case ScatterReduction::Minimum: one = std::min(one, values[i]); break;
      case ScatterReduction::Maximum: one = std::max(one, values[i]); break;
    }
  }
  return out;
}

TEST(ScatterReduce, IsTheLoopOverUpdates) {
  constexpr ScatterReduction kAll[] = {ScatterReduction::Sum, ScatterReduction::Product, ScatterReduction::Minimum,
                                       ScatterReduction::Maximum};
  for (const Shape& shape : {Shape{1, 3, 2}, Shape{2, 17, 3}, Shape{3, 5, 1}}) {
    const Tensor x = uniform({3, 5, 3}, -1.5, 1.5, {.dtype = f64}), source = uniform(shape, -1.5, 1.5, {.dtype = f64});
    const Tensor index = randint(-5, 5, shape);
    eval(x, source, index);
    for (const ScatterReduction reduction : kAll)
      test::expect_close(scatter_reduce(x, 1, index, source, reduction), by_loops(x, 1, index, source, reduction), 1e-12);
  }
}

TEST(ScatterReduce, TakesManyUpdatesOfAPlace) {
  const Tensor x = zeros({1000}), source = cast(remainder(arange(100'000) * 7919, 100'003), f32);
  const Tensor index = remainder(arange(100'000), 1000);
  const auto most = scatter_reduce(x, 0, index, source, ScatterReduction::Maximum).to_host<double>();
  EXPECT_EQ(most, by_loops(x, 0, index, source, ScatterReduction::Maximum));
}

TEST(ScatterReduce, PlacesOutsideAreErrors) {
  const Tensor x = zeros({3});
  for (const int place : {3, -4}) {
    EXPECT_THROW(scatter_reduce(x, 0, tensor({place}), ones({1}), ScatterReduction::Maximum).to_host<float>(), Error) << place;
  }
  EXPECT_HAS_MESSAGE(scatter_reduce(x, 0, tensor({0, 1}), ones({1}), ScatterReduction::Product), "a source of their shape");
  EXPECT_HAS_MESSAGE(scatter_reduce(x, 0, tensor({0}), ones({1}, f64), ScatterReduction::Product), "f32, as x");
}

TEST(Int4, ComesBackAsItWas) {
  const Tensor signed_numbers = tensor({-8, -1, 0, 7}), unsigned_numbers = tensor({0, 5, 9, 15});
  const Tensor packed = pack_int4(signed_numbers);
  EXPECT_EQ(packed.dtype(), u8);
  test::expect_close(packed, {0xf8, 0x70}, 0);  // the first number in the lower half
  test::expect_close(unpack_int4(packed, Int4::Signed), {-8, -1, 0, 7}, 0);
  test::expect_close(unpack_int4(pack_int4(unsigned_numbers), Int4::Unsigned, f16), {0, 5, 9, 15}, 0);
  EXPECT_HAS_MESSAGE(pack_int4(tensor({1, 2, 3})), "an even number of them");
  EXPECT_HAS_MESSAGE(pack_int4(ones({4})), "expected integers");
  EXPECT_HAS_MESSAGE(unpack_int4(tensor({1, 2}), Int4::Signed), "bytes (u8)");
}

}  // namespace
}  // namespace tegula
