#include "tegula/ops/images/unpool.h"

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Unpool, unpool_cases());

namespace {

using test::drawn;

TEST(Unpool, PlacesAreThoseOfTheMaxima) {
  const Tensor x = drawn({2, 3, 9, 8});
  const MaxPoolOptions options{.stride = {2, 3}, .padding = {1, 0}, .dilation = {2, 1}};
  const PooledPlaces pooled = max_pool2d_with_indices(x, {3, 2}, options);
  expect_values(pooled.values, max_pool2d(x, {3, 2}, options).to_host<double>());
  const auto values = pooled.values.to_host<double>(), all = x.to_host<double>();
  const auto places = pooled.indices.to_host<std::int64_t>();
  const std::size_t plane = values.size() / 6;
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(all[i / plane * 72 + static_cast<std::size_t>(places[i])], values[i]);
  expect_values(max_pool2d_with_indices(zeros({1, 1, 2, 2}), 2).indices, {0});  // of equal ones the first
}

/// The place of the first maximum of each window of x (planes, size), by loops; NaN counts as maximum.
std::vector<std::int64_t> places_by_loops(const Tensor& x, std::int64_t window, const MaxPoolOptions& options, std::int64_t positions) {
  const std::int64_t size = x.size(1), stride = options.stride.expand(1, 1, "", "", {})[0],
                     dilation = options.dilation.expand(1, 1, "", "", {})[0], low = options.padding.low().expand(1, 0, "", "", {})[0];
  const auto all = x.to_host<double>();
  std::vector<std::int64_t> out;
  for (std::int64_t plane = 0; plane < x.size(0); ++plane) {
    for (std::int64_t p = 0; p < positions; ++p) {
      std::int64_t best = -1;
      for (std::int64_t q = 0; q < window; ++q) {
        const std::int64_t at = p * stride + q * dilation - low;
        if (at < 0 || at >= size) continue;
        const auto value = [&](std::int64_t i) { return all[static_cast<std::size_t>(plane * size + i)]; };
        if (best < 0 || value(at) > value(best) || (std::isnan(value(at)) && !std::isnan(value(best)))) best = at;
      }
      out.push_back(best);
    }
  }
  return out;
}

TEST(Unpool, PlacesOfEveryDType) {
  const MaxPoolOptions many[] = {{.stride = 1},
                                 {.stride = 2, .padding = 5},
                                 {.stride = 3, .padding = 2, .dilation = 4},
                                 {.stride = 2, .padding = 1, .dilation = 2, .ceil_mode = true}};
  for (const DType dtype : kNumbers) {
    const bool has_sign = !is_unsigned(dtype);
    const Tensor x = cast(randint(has_sign ? -2 : 0, 3, {3, 300}), dtype);  // with many equals
    for (const std::int64_t window : {3, 260}) {  // no taps are kept of the larger ones
      for (const MaxPoolOptions& options : many) {
        if (window > 255 && options.dilation.expand(1, 1, "", "", {})[0] > 1) continue;
        const PooledPlaces pooled = max_pool1d_with_indices(x, window, options);
        EXPECT_EQ(pooled.indices.to_host<std::int64_t>(), places_by_loops(x, window, options, pooled.indices.size(1))) << name(dtype);
        EXPECT_EQ(pooled.values.to_host<double>(), max_pool1d(x, window, options).to_host<double>()) << name(dtype);
      }
    }
  }
}

TEST(Unpool, PlacesOfTheLowestNumbersAndOfNaN) {
  // Nothing is greater than the padding, and yet the maximum lies inside.
  const Tensor lowest = full({1, 4}, -kInfinite, f32), least = zeros({1, 4}, u8);
  for (const Tensor& x : {lowest, least}) {
    expect_values(max_pool1d_with_indices(x, 2, {.padding = 1}).indices, {0, 1, 3});
    expect_values(max_pool1d_with_indices(x, 2, {.padding = 4}).indices, {-1, -1, 0, 2, -1, -1});
  }
  const Tensor x = doubles({1, kNan, kNan, 7}, {1, 4});
  expect_values(max_pool1d_with_indices(x, 4).indices, {1});
  expect_values(max_pool1d_with_indices(reshape(repeat(x, {1, 100}), {1, 400}), 400).indices, {1});
}

TEST(Unpool, PlacesInVolumesAndInEveryLayout) {
  const Tensor x = drawn({2, 3, 5, 6, 7});
  const MaxPoolOptions options{.stride = {1, 2, 3}, .padding = {1, 0, 1}, .dilation = {2, 1, 1}};
  const PooledPlaces pooled = max_pool3d_with_indices(x, {2, 3, 2}, options);
  expect_values(pooled.values, max_pool3d(x, {2, 3, 2}, options).to_host<double>());
  // The element at the place is the maximum.
  const Tensor planes = reshape(x, {6, 210}), places = reshape(pooled.indices, {6, -1});
  expect_values(take_along_axis(planes, places, 1), pooled.values.to_host<double>());
  MaxPoolOptions last = options;
  last.layout = Layout::NHWC;
  const PooledPlaces of_last = max_pool3d_with_indices(permute(x, {0, 2, 3, 4, 1}), {2, 3, 2}, last);
  expect_values(of_last.indices, permute(pooled.indices, {0, 2, 3, 4, 1}).to_host<double>());
  expect_values(max_pool3d_with_indices(select(x, 0, 1), {2, 3, 2}, options).indices, select(pooled.indices, 0, 1).to_host<double>());
}

TEST(Unpool, PlacesComeWithTheGradientAndInAJit) {
  const Tensor x = drawn({1, 2, 6, 5}), weight = drawn({1, 2, 3, 2});
  const auto f = [&](Tensor in) {
    const PooledPlaces pooled = max_pool2d_with_indices(in, 2);
    return std::vector{grad(sum(pooled.values * weight), in), max_unpool2d(pooled.values, pooled.indices, 2, {.size = {6, 5}})};
  };
  const auto plain = f(x);
  const auto expected = max_unpool2d(weight, max_pool2d_with_indices(x, 2).indices, 2, {.size = {6, 5}});
  expect_values(plain[0], expected.to_host<double>());
  auto compiled = jit(f);
  for (int call = 0; call < 3; ++call) {
    const auto got = compiled(x);
    for (std::size_t i = 0; i < 2; ++i) expect_values(got[i], plain[i].to_host<double>());
  }
}

TEST(Unpool, PutsIntegersVolumesAndSinglePlanesBack) {
  const Tensor x = cast(randint(1, 100, {2, 3, 4, 6, 2}), i16);
  const PooledPlaces pooled = max_pool3d_with_indices(x, 2);
  const Tensor back = max_unpool3d(pooled.values, pooled.indices, 2);
  ASSERT_EQ(back.shape(), x.shape());
  EXPECT_EQ(back.dtype(), i16);
  expect_values(max_pool3d(back, 2), pooled.values.to_host<double>());
  expect_values(sum(cast(back != 0, i64)), {2 * 3 * 2 * 3});
  expect_values(max_unpool1d(tensor({5, 7}, {1, 2}), tensor({1, 2}, {1, 2}), 2), {0, 5, 7, 0});
}

TEST(Unpool, PutsValuesBackAndNothingElse) {
  const Tensor x = drawn({2, 3, 6, 8});
  const PooledPlaces pooled = max_pool2d_with_indices(x, 2);
  const Tensor back = max_unpool2d(pooled.values, pooled.indices, 2);
  ASSERT_EQ(back.shape(), x.shape());
  expect_values(back, where(back != 0, x, 0).to_host<double>());
  expect_values(sum(cast(back != 0, i64)), {2 * 3 * 12});
  expect_values(max_pool2d(abs(back), 2), abs(pooled.values).to_host<double>());
  EXPECT_EQ(max_unpool2d(pooled.values, pooled.indices, 2, {.size = {7, 8}}).shape(), (Shape{2, 3, 7, 8}));
}

TEST(LocalContrastNorm, LeavesNoMeanAndAnEvenSpread) {
  expect_values(local_contrast_norm(full({1, 2, 5, 5}, 3.0, f64), {.size = 3}), std::vector<double>(50, 0), 1e-9);
  // The same picture with another brightness and contrast gives the same result.
  const Tensor x = drawn({1, 3, 12, 11}, f64), y = local_contrast_norm(x, {.size = 5});
  expect_values(local_contrast_norm(x * 7 + 100, {.size = 5}), y.to_host<double>(), 1e-9);
  EXPECT_LT(max(abs(y)).item<double>(), 6);
}

TEST(Unpool, Errors) {
  expect_part(refusal([] { max_pool2d_with_indices(zeros({3, 4}), 2); }),
              "max_pool2d_with_indices: got f32 of shape (3, 4), expected numbers (channels, spatial) with 3 axes");
  expect_part(refusal([] { max_pool2d_with_indices(zeros({1, 1, 2, 2}), 3); }), "a window that fits");
  expect_part(refusal([] { max_unpool3d(zeros({1, 2, 2}), zeros({1, 2, 2}, i64), 2); }),
              "max_unpool3d: got f32 of shape (1, 2, 2), expected numbers (N, channels, spatial) with 5 axes");
  expect_part(refusal([] { max_unpool1d(ones({1, 2}, boolean), zeros({1, 2}, i64), 2); }), "got bool of shape (1, 2)");
  expect_part(refusal([] { max_unpool2d(zeros({1, 1, 2, 2}), zeros({1, 1, 2, 2}), 2); }), "integers of shape (1, 1, 2, 2)");
  expect_part(refusal([] { max_unpool2d(zeros({1, 1, 2, 2}), full({1, 1, 2, 2}, 99), 2).to_host(); }), "99");
  expect_part(refusal([] { local_contrast_norm(zeros({1, 1, 2, 2}), {.size = 4}); }), "an odd size");
}

}  // namespace
}  // namespace tegula
