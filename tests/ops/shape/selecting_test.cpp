// Selections with a bound and a count, and scatter with products, minima and maxima.
#include "tegula/ops/shape/selecting.h"

#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <algorithm>
#include <cmath>

#include "tests/io/files.h"
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

TEST(Int4, IsTheNearestNumberOfTheKind) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({-0.5, 0.5, 1.5, 2.5, -9.0, 7.4, 15.5, nan, infinite, -infinite});
  test::expect_close(unpack_int4(pack_int4(x, Int4::Signed), Int4::Signed), {0, 0, 2, 2, -8, 7, 7, 0, 7, -8}, 0);
  test::expect_close(unpack_int4(pack_int4(x, Int4::Unsigned), Int4::Unsigned), {0, 0, 2, 2, 0, 7, 15, 0, 15, 0}, 0);
  for (const DType dtype : {f32, f16, bf16})
    EXPECT_EQ(pack_int4(cast(x, dtype), Int4::Signed).to_host<int>(), pack_int4(x, Int4::Signed).to_host<int>());
  const Tensor whole = tensor<std::int64_t>({-9, -8, 15, std::int64_t{1} << 40});
  test::expect_close(unpack_int4(pack_int4(whole, Int4::Signed), Int4::Signed), {-8, -8, 7, 7}, 0);
  test::expect_close(unpack_int4(pack_int4(whole, Int4::Unsigned), Int4::Unsigned), {0, 0, 15, 15}, 0);
  test::expect_close(unpack_int4(pack_int4(tensor<std::uint8_t>({200, 9}), Int4::Unsigned), Int4::Unsigned), {15, 9}, 0);
  EXPECT_HAS_MESSAGE(pack_int4(ones({3}), Int4::Signed), "an even number of them");
  EXPECT_HAS_MESSAGE(pack_int4(ones({2}, boolean), Int4::Signed), "floats or integers");
}

TEST(Int4, WeightsAreNoFurtherThanHalfAStep) {
  const Tensor w = normal({6, 32}) * 3;
  for (const Int4Options& options : {Int4Options{}, Int4Options{.block = 8}, Int4Options{.block = 16, .kind = Int4::Unsigned}}) {
    const QuantizedInt4 small = quantize_int4(w, options);
    const std::int64_t blocks = options.block > 0 ? 32 / options.block : 1;
    EXPECT_EQ(small.bytes.shape(), (Shape{6, 16}));
    EXPECT_EQ(small.scale.shape(), (Shape{6, blocks}));
    EXPECT_EQ(small.zero_point.defined(), options.kind == Int4::Unsigned);
    // Unsigned: what the zero point is rounded by may push an end out by half a step more.
    const Tensor off = reshape(abs(dequantize_int4(small) - w), {6, blocks, -1}) / unsqueeze(small.scale, -1);
    EXPECT_LE(max(off).item<float>(), options.kind == Int4::Signed ? 0.5001F : 1.0001F);
  }
  // Numbers that codes hold exactly come back exactly, also a block of zeros and one without negative numbers.
  const Tensor exact = tensor({-7.0F, 3.0F, 0.0F, 1.0F, 0.0F, 0.0F, 0.0F, 0.0F}, {2, 4}),
               positive = tensor({0.0F, 30.0F, 2.0F, 14.0F}, {1, 4});
  test::expect_close(dequantize_int4(quantize_int4(exact)), exact.to_host<double>(), 0);
  test::expect_close(dequantize_int4(quantize_int4(positive, {.kind = Int4::Unsigned})), positive.to_host<double>(), 0);
  EXPECT_HAS_MESSAGE(quantize_int4(w, {.block = 5}), "got blocks of 5 in rows of 32");
  EXPECT_HAS_MESSAGE(quantize_int4(ones({2, 3})), "an even number of them");
  EXPECT_HAS_MESSAGE(quantize_int4(ones({2, 4}, i32)), "a float type");
  EXPECT_HAS_MESSAGE(dequantize_int4({zeros({2, 4}, u8), ones({2, 3}), {}}), "got bytes (2, 4) and scales (2, 3)");
}

TEST(Int4, ALinearLayerReadsThemFromAFile) {
  nn::Linear linear_layer(32, 6);
  const QuantizedInt4 small = quantize_int4(linear_layer.weight, {.block = 16});
  const testing::TemporaryFolder folder;
  save_state({{"weight", small.bytes}, {"weight.scale", small.scale}}, folder / "w.safetensors");
  const StateDict read = load_state(folder / "w.safetensors");
  const QuantizedInt4 again{read[0].value, read[1].value, {}};
  EXPECT_EQ(again.bytes.to_host<int>(), small.bytes.to_host<int>());
  const Tensor x = normal({5, 32}), expected = linear(x, dequantize_int4(small), linear_layer.bias);
  const auto f = [=](const Tensor& in) { return linear(in, dequantize_int4(again), linear_layer.bias); };
  test::expect_close(f(x), expected.to_host<double>(), 1e-6);
  save_graph({folder / "f.graph"}, f, x);
  auto loaded = load_graph(folder / "f.graph");
  test::expect_close(loaded(x), expected.to_host<double>(), 1e-6);
}

}  // namespace
}  // namespace tegula
