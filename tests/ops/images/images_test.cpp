// Windows as columns, channels as pixels, resizing, sampling at places.

#include "tegula/compile/jit.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/images/grid_sample.h"
#include "tegula/ops/images/interpolate.h"
#include "tegula/ops/images/unfold.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Unfold, unfold_cases());
INSTANTIATE_DECLARED_CASES(Interpolate, interpolate_cases());
INSTANTIATE_DECLARED_CASES(GridSample, grid_sample_cases());

namespace {

using test::drawn;

using enum Interpolation;

TEST(Unfold, TimesTheWeightIsAConvolution) {
  const Tensor x = drawn({2, 3, 7, 6}, f64), weight = drawn({5, 3, 3, 2}, f64);
  const Tensor columns = unfold(x, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}});
  const Tensor product = matmul(reshape(weight, {5, 18}), columns);  // (2, 5, positions)
  const Tensor direct = conv2d(x, weight, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}});
  expect_values(product, direct.to_host<double>(), 1e-12);
}

TEST(Unfold, FoldIsItsAdjointAndPutsPiecesBack) {
  const Tensor x = drawn({2, 3, 7, 6}, f64);
  const UnfoldOptions options{.stride = {2, 1}, .padding = 1, .dilation = {2, 1}};
  const Tensor y = unfold(x, {2, 3}, options), g = drawn(y.shape(), f64);
  expect_values(sum(y * g), {sum(x * fold(g, {7, 6}, {2, 3}, options)).item<double>()}, 1e-12);
  expect_values(grad(sum(y * g), x), fold(g, {7, 6}, {2, 3}, options).to_host<double>(), 1e-12);
  const Tensor image = counted({1, 2, 4, 6});
  expect_values(fold(unfold(image, 2, {.stride = 2}), {4, 6}, 2, {.stride = 2}), image.to_host<double>());
  expect_values(fold(ones({4, 4}), 3, 2), {1, 2, 1, 2, 4, 2, 1, 2, 1});
  EXPECT_EQ(unfold(x, 3, {.padding = Same}).shape(), (Shape{2, 27, 42}));
}

/// Columns of x (1, C, spatial…) without padding, by loops: window elements and channels, positions.
std::vector<double> columns_by_loops(const Tensor& x, const Dims& window, const Dims& stride) {
  const int axes = window.rank();
  const Shape image(std::span(x.shape().begin() + 2, static_cast<std::size_t>(axes)));
  Dims positions;
  for (int i = 0; i < axes; ++i) positions.push_back((image[i] - window[i]) / stride[i] + 1);
  const auto values = x.to_host<double>();
  std::vector<double> out;
  for (std::int64_t c = 0; c < x.size(1); ++c) {
    for (std::int64_t q = 0; q < numel(window); ++q) {
      for (std::int64_t p = 0; p < numel(positions); ++p) {
        std::int64_t at = 0, step = 1, rest_q = q, rest_p = p;
        for (int i = axes - 1; i >= 0; --i) {
          at += (rest_p % positions[i] * stride[i] + rest_q % window[i]) * step;
          step *= image[i], rest_q /= window[i], rest_p /= positions[i];
        }
        out.push_back(values[static_cast<std::size_t>(c * numel(image) + at)]);
      }
    }
  }
  return out;
}

TEST(Unfold, InAnyNumberOfAxes) {
  const struct {
    Shape image;
    Dims window, stride;
  } many[] = {{{7}, {3}, {2}},
              {{5, 6}, {2, 3}, {1, 2}},
              {{4, 5, 6}, {2, 3, 1}, {2, 1, 2}},
              {{3, 4, 3, 5}, {2, 2, 1, 3}, {1, 2, 1, 1}},
              {{2, 3, 2, 3, 4}, {1, 2, 2, 2, 3}, {1, 1, 1, 1, 1}},
              {{2, 3, 2, 2, 3, 2}, {2, 2, 1, 2, 2, 1}, {1, 1, 1, 1, 1, 1}}};
  for (const auto& [image, window, stride] : many) {
    const UnfoldOptions options{.stride = stride, .axes = image.rank()};
    Shape shape{1, 2};
    for (const std::int64_t size : image) shape.push_back(size);
    const Tensor x = drawn(shape, f64), columns = unfold(x, window, options);
    expect_values(columns, columns_by_loops(x, window, stride));
    const Tensor g = drawn(columns.shape(), f64), folded = fold(g, image, window, options);
    ASSERT_EQ(folded.shape(), shape);
    expect_values(sum(columns * g), {sum(x * folded).item<double>()}, 1e-11);
    expect_values(grad(sum(columns * g), x), folded.to_host<double>(), 1e-12);
    expect_values(fold(cast(g * 8, i32), image, window, options),
                  fold(cast(cast(g * 8, i32), f64), image, window, options).to_host<double>());
    if (image.rank() > 1) expect_values(fold(g, image, window, {.stride = stride}), folded.to_host<double>());  // as many axes as numbers
    const Tensor one = select(g, 0, 0);
    expect_values(fold(one, image, window, options), folded.to_host<double>());
  }
}

TEST(Unfold, ImagesWhoseChannelsComeLast) {
  const Tensor x = drawn({2, 3, 4, 5, 6}, f64);
  const UnfoldOptions options{.padding = {1, 0, 2}}, last{.padding = {1, 0, 2}, .layout = Layout::NHWC};
  const Tensor columns = unfold(x, {2, 3, 2}, options);
  expect_values(unfold(permute(x, {0, 2, 3, 4, 1}), {2, 3, 2}, last), columns.to_host<double>());
  const Tensor image = fold(columns, {4, 5, 6}, {2, 3, 2}, options);
  expect_values(fold(columns, {4, 5, 6}, {2, 3, 2}, last), permute(image, {0, 2, 3, 4, 1}).to_host<double>());
}

TEST(Unfold, Errors) {
  expect_part(refusal([] { unfold(counted({3, 3}), {2, 2, 2}); }), "unfold: got shape (3, 3), expected (N, channels, 3 spatial axes)");
  expect_part(refusal([] { unfold(counted({1, 3, 3}), 2, {.axes = 7}); }), "unfold: got 7 spatial axes, expected 1 to 6");
  expect_part(refusal([] { fold(counted({1, 4, 4}), {3, 3}, {2, 2, 2}); }), "window (2, 2, 2)");

  expect_part(refusal([] { unfold(counted({3, 3}), 2); }), "unfold: got shape (3, 3), expected (N, channels, height, width)");
  expect_part(refusal([] { unfold(counted({1, 3, 3}), 4); }), "unfold: got an image of (3, 3) and window (4, 4)");
  expect_part(refusal([] { fold(counted({1, 4, 5}), 3, 2); }),
              "fold: got shape (1, 4, 5), expected (N, channels * 4, 4), the (2, 2) windows");
  expect_part(refusal([] { fold(counted({1, 3, 4}), 3, 2); }), "fold: got shape (1, 3, 4)");
  expect_part(refusal([] { unfold(counted({1, 3, 3}), 2, {.stride = 0}); }), "stride");
}

TEST(PixelShuffle, PutsChannelsBesideEachOther) {
  expect_values(pixel_shuffle(counted({4, 1, 2}), 2), {0, 2, 1, 3, 4, 6, 5, 7});
  const Tensor x = counted({2, 3, 8, 2, 3});
  EXPECT_EQ(pixel_shuffle(x, 2).shape(), (Shape{2, 3, 2, 4, 6}));
  expect_values(pixel_unshuffle(pixel_shuffle(x, 2), 2), x.to_host<double>());
  expect_part(refusal([&] { pixel_shuffle(x, 3); }), "pixel_shuffle: got 8 channels, expected a multiple of r² = 3²");
  expect_part(refusal([&] { pixel_unshuffle(x, 2); }), "pixel_unshuffle: got an image of (2, 3), expected multiples of r = 2");
  expect_part(refusal([&] { pixel_shuffle(x, 0); }), "r = 0");
  expect_part(refusal([&] { pixel_shuffle(counted({4, 4}), 2); }), "(…, channels, height, width)");
}

// --- interpolate ---

TEST(Interpolate, NearestTakesElementsOfAnyDtype) {
  const Tensor x = doubles({1, 2, 3, 4}, {1, 1, 2, 2});
  const Values twice{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
  expect_values(interpolate(x, {.scale_factor = 2}), twice);
  expect_values(interpolate(cast(x, u8), {.scale_factor = 2}), twice);
  const Tensor line = doubles({0, 1, 2, 3, 4}, {1, 1, 5});
  expect_values(interpolate(line, {.size = 3}), {0, 1, 3});
  expect_values(interpolate(line, {.size = 3, .mode = NearestExact}), {0, 2, 4});
  expect_values(interpolate(line, {.size = 7}), {0, 0, 1, 2, 2, 3, 4});
}

TEST(Interpolate, LinearInBothConventions) {
  const Tensor x = doubles({1, 2, 3}, {1, 1, 3});
  expect_values(interpolate(x, {.scale_factor = 2, .mode = Linear}), {1, 1.25, 1.75, 2.25, 2.75, 3});
  expect_values(interpolate(x, {.size = 5, .mode = Linear, .align_corners = true}), {1, 1.5, 2, 2.5, 3});
  expect_values(interpolate(x, {.size = 1, .mode = Linear, .align_corners = true}), {1});
  expect_values(interpolate(x, {.size = 1, .mode = Linear}), {2});
  const Tensor image = doubles({1, 2, 3, 4}, {1, 1, 2, 2});
  expect_values(interpolate(image, {.scale_factor = {1, 2}, .mode = Bilinear}), {1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4});
  expect_values(interpolate(counted({1, 1, 2, 2, 2}), {.size = 1, .mode = Trilinear}), {3.5});
}

TEST(Interpolate, CubicKeepsPolynomialsInside) {
  // Keys' filter with a = -0.75 keeps constants and, at the middles between elements, straight lines.
  const Tensor line = counted({1, 1, 9});
  const Values y = interpolate(line, {.size = 17, .mode = Cubic, .align_corners = true}).to_host<double>();
  for (std::size_t i = 3; i < 14; ++i) EXPECT_NEAR(y[i], static_cast<double>(i) / 2, 1e-12) << i;
  expect_values(interpolate(ones({1, 1, 5}, f64), {.size = 13, .mode = Cubic}), Values(13, 1), 1e-14);
}

TEST(Interpolate, AntialiasLooksAtAllThatShrinks) {
  // Every second element is 1: without antialias each pixel of the result sees two of them only.
  const Tensor comb = doubles({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}, {1, 1, 16});
  const Values smooth = interpolate(comb, {.size = 4, .mode = Linear, .antialias = true}).to_host<double>();
  for (const double y : smooth) EXPECT_NEAR(y, 0.5, 0.06);
  expect_values(interpolate(ones({1, 1, 16}, f64), {.size = 5, .mode = Cubic, .antialias = true}), Values(5, 1), 1e-14);
}

TEST(Interpolate, AntialiasWithAlignCornersIsPyTorchs) {
  const Tensor squares = doubles({1, 4, 9, 16, 25, 36, 49}, {1, 1, 7});  // the results of PyTorch 2.11
  const auto resized = [&](Interpolation mode, std::int64_t size) {
    return interpolate(squares, {.size = size, .mode = mode, .align_corners = true, .antialias = true});
  };
  expect_values(resized(Linear, 3), {6, 79. / 3, 134. / 3}, 1e-12);
  expect_values(resized(Linear, 1), {1}, 1e-12);
  expect_values(resized(Linear, 9), {1, 2.875, 5.875, 9.875, 15.125, 21.625, 29.125, 37.625, 47.375}, 1e-12);
  expect_values(resized(Cubic, 3), {4.546666666666668, 26.905882352941173, 48.59259259259258}, 1e-12);
  expect_values(resized(Cubic, 1), {0.625}, 1e-12);
}

TEST(Interpolate, InfinitiesStayWhereTheyAre) {
  const Tensor x = doubles({0, 0, kInfinite, 0, 0, 0}, {1, 1, 6});
  const Values y = interpolate(x, {.scale_factor = 2, .mode = Linear}).to_host<double>();
  const Values expected{0, 0, 0, kInfinite, kInfinite, kInfinite, kInfinite, 0, 0, 0, 0, 0};
  EXPECT_EQ(y, expected);
}

TEST(Interpolate, AreaIsAMean) {
  expect_values(interpolate(counted({1, 1, 4, 4}), {.size = 2, .mode = Area}), avg_pool2d(counted({1, 1, 4, 4}), 2).to_host<double>());
}

TEST(Interpolate, TheSameSizeIsATensorOfItsOwn) {
  const Tensor x = counted({1, 1, 4});
  const Tensor y = interpolate(x, {.size = 4, .mode = Linear});
  expect_values(grad(sum(y * y), y), {0, 2, 4, 6});
}

TEST(Interpolate, GradientsAreRightWhateverTheSizes) {
  // <W x, g> = <x, Wᵀ g> with the transposed matrix made by its own formula.
  for (const Interpolation mode : {Nearest, NearestExact, Linear, Cubic}) {
    for (const std::int64_t in : {1, 2, 3, 7, 16}) {
      for (const std::int64_t out : {1, 2, 3, 5, 16, 40}) {
        for (const int variant : {0, 1, 2, 3}) {
          if (variant > 0 && mode != Linear && mode != Cubic) continue;
          const InterpolateOptions options{.size = out, .mode = mode, .align_corners = variant % 2 == 1, .antialias = variant >= 2};
          const Tensor x = drawn({1, 2, in}, f64), g = drawn({1, 2, out}, f64), y = interpolate(x, options);
          const double left = sum(y * g).item<double>(), right = sum(x * grad(sum(y * g), x)).item<double>();
          EXPECT_NEAR(left, right, 1e-12) << static_cast<int>(mode) << " " << in << " to " << out << ", variant " << variant;
        }
      }
    }
  }
}

TEST(Interpolate, InAJitAsPlain) {
  const auto f = [](const Tensor& x) {
    const Tensor y = interpolate(x, {.scale_factor = 2, .mode = Bicubic});
    return std::vector<Tensor>{y, grad(sum(y * y), x)};
  };
  const Tensor x = drawn({2, 3, 4, 5}, f64);
  auto compiled = jit(f);
  for (int call = 0; call < 3; ++call) {
    const auto got = compiled(x), expected = f(x);
    for (std::size_t i = 0; i < 2; ++i) expect_values(got[i], expected[i].to_host<double>(), 1e-13);
  }
}

TEST(Interpolate, Errors) {
  const Tensor x = counted({1, 1, 4});
  const auto says = [](const Tensor& t, const InterpolateOptions& options, const std::string& part) {
    expect_part(refusal([&] { interpolate(t, options); }), part);
  };
  says(x, {}, "interpolate: got neither size nor scale_factor, expected one of them");
  says(x, {.size = 3, .scale_factor = 2}, "size and scale_factor");
  says(x, {.scale_factor = {1, 2}}, "2 scale factors, expected one, or one for each of 1 spatial axes");
  says(x, {.scale_factor = -1}, "a positive number");
  says(x, {.scale_factor = 0.1}, "scale_factor 0.1 for an axis of size 4, expected a result with elements");
  says(x, {.size = 3, .align_corners = true}, "align_corners of a mode that has none");
  says(x, {.size = 3, .antialias = true}, "antialias of a mode that has none");
  says(counted({1, 4}), {.size = 3}, "shape (1, 4), expected (N, C, spatial…)");
  says(counted({1, 1, 4}, u8), {.size = 3, .mode = Linear}, "interpolate: got dtype u8, expected a float type for this mode");
  says(x, {.size = 0}, "size");
}

// --- grid_sample ---

TEST(GridSample, TheIdentityGivesTheImage) {
  const Tensor x = drawn({2, 3, 4, 5}, f64), theta = doubles({1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}, {2, 2, 3});
  for (const bool corners : {false, true}) {
    const Tensor grid = affine_grid(theta, x.shape(), {.align_corners = corners});
    EXPECT_EQ(grid.shape(), (Shape{2, 4, 5, 2}));
    expect_values(grid_sample(x, grid, {.align_corners = corners}), x.to_host<double>(), 1e-14);
    expect_values(grid_sample(x, grid, {.mode = GridMode::Nearest, .align_corners = corners}), x.to_host<double>());
  }
}

TEST(GridSample, OutsideIsAsThePaddingSays) {
  const Tensor x = doubles({1, 2, 3, 4}, {1, 1, 1, 4});
  // With align_corners -1 and 1 are the first and the last pixel: places of -1, 0.5, 4 and 5.
  const Tensor grid = doubles({-1 - 2. / 3, 0, -2. / 3, 0, 1 + 2. / 3, 0, 1 + 4. / 3, 0}, {1, 1, 4, 2});
  const auto sampled = [&](GridPadding padding) { return grid_sample(x, grid, {.padding = padding, .align_corners = true}); };
  expect_values(sampled(GridPadding::Zeros), {0, 1.5, 0, 0}, 1e-14);
  expect_values(sampled(GridPadding::Border), {1, 1.5, 4, 4}, 1e-14);
  expect_values(sampled(GridPadding::Reflection), {2, 1.5, 3, 2}, 1e-14);
}

TEST(GridSample, PlacesThatAreNoneLieOutside) {
  const Tensor x = ones({1, 1, 2, 2}, f64);
  const Tensor grid = doubles({kNan, 0, kInfinite, 0, 1e300, 0, 0, 0}, {1, 1, 4, 2});
  expect_values(grid_sample(x, grid), {0, 0, 0, 1});
  expect_values(grid_sample(x, grid, {.padding = GridPadding::Border}), {0, 1, 1, 1});
  expect_values(grid_sample(x, grid, {.mode = GridMode::Nearest}), {0, 0, 0, 1});
}

TEST(GridSample, BicubicIsPyTorchs) {
  const Tensor x = doubles({1, 4, 9, 16}, {1, 1, 1, 4}), grid = doubles({-1.5, 0, -0.3, 0, 0.5, 0, 0.9, 0}, {1, 1, 4, 2});
  const auto sampled = [&](GridPadding padding) {
    return grid_sample(x, grid, {.mode = GridMode::Bicubic, .padding = padding, .align_corners = true});
  };  // the results of PyTorch 2.11
  expect_values(sampled(GridPadding::Zeros), {0.12109375, 4.285624999999977, 11.67578125, 16.47840625}, 1e-12);
  expect_values(sampled(GridPadding::Border), {0.89453125, 4.285624999999977, 11.11328125, 15.177906249999992}, 1e-12);
  expect_values(sampled(GridPadding::Reflection), {2.6875, 4.285624999999977, 11.359375, 15.746874999999996}, 1e-12);
  const Tensor none = doubles({kInfinite, 0, 0, std::nan("")}, {1, 1, 2, 2});
  expect_values(grid_sample(x, none, {.mode = GridMode::Bicubic, .padding = GridPadding::Border}), {0, 0});
  expect_part(refusal([] { grid_sample(zeros({1, 1, 2, 2, 2}), zeros({1, 1, 1, 1, 3}), {.mode = GridMode::Bicubic}); }),
              "grid_sample: got Bicubic for a volume");
}

TEST(GridSample, Errors) {
  const auto says = [](const Shape& x, const Shape& grid, const std::string& part) {
    expect_part(refusal([&] { grid_sample(zeros(x), zeros(grid)); }), part);
  };
  says({1, 1, 2, 2}, {1, 1, 4, 3}, "grid_sample: got shapes (1, 1, 2, 2) and (1, 1, 4, 3), expected (N, C, H, W) and (N, H', W', 2)");
  says({1, 1, 2, 2}, {2, 1, 4, 2}, "grid_sample: got shapes");
  says({1, 1, 0, 2}, {1, 1, 4, 2}, "images not empty");
  expect_part(refusal([] { grid_sample(zeros({1, 1, 2, 2}, u8), zeros({1, 1, 1, 2})); }), "grid_sample: got dtype u8");
  expect_part(refusal([] { affine_grid(zeros({1, 2, 2}), {1, 1, 2, 2}); }),
              "affine_grid: got theta of shape (1, 2, 2) for size (1, 1, 2, 2)");
}

}  // namespace
}  // namespace tegula
