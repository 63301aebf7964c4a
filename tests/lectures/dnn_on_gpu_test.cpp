// LAPENNA unit 11, "DNN computing on GPU" (University of Tennessee, 2022): a 7x7x3 image through a convolution with two 3x3x3 filters and
// stride 2, ReLU, overlapping max pooling, flatten and softmax.

#include <gtest/gtest.h>

#include <array>

#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/values.h"

namespace tegula::test {
namespace {

// The lecture's values after the convolution, in its order (height, width, filter).
constexpr std::array<std::array<double, 2>, 9> kConvolved{{{-2, 7}, {1, 1}, {4, -7}, {1, 6}, {9, -8}, {6, -6}, {2, -7}, {1, -4}, {2, -8}}};

struct Example {
  std::vector<double> image = std::vector<double>(3 * 7 * 7);     // (C, H, W)
  std::vector<double> filters = std::vector<double>(2 * 3 * 3 * 3);  // (M, C, H, W)
  double& pixel(std::size_t c, std::size_t i, std::size_t j) { return image[(c * 7 + i) * 7 + j]; }
  double& tap(std::size_t m, std::size_t c, std::size_t p, std::size_t q) { return filters[((m * 3 + c) * 3 + p) * 3 + q]; }
  double sum(std::size_t m, std::size_t h, std::size_t w) {
    double total = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 3; ++p) {
        for (std::size_t q = 0; q < 3; ++q) total += pixel(c, 2 * h + p, 2 * w + q) * tap(m, c, p, q);
      }
    }
    return total;
  }
};

// The lecture gives the numbers of the image and of the filters only as a picture. These are random integers, with the centre pixel of
// each window (no two windows share it) chosen so that the sums are the printed ones.
Example example() {
  Example e;
  std::mt19937 engine(11);
  std::uniform_int_distribution<int> small(-2, 2);
  for (auto& x : e.image) x = small(engine);
  for (auto& x : e.filters) x = small(engine);
  for (std::size_t m = 0; m < 2; ++m) {
    for (std::size_t c = 0; c < 2; ++c) e.tap(m, c, 1, 1) = m == c ? 1 : 0;
  }
  for (std::size_t window = 0; window < 9; ++window) {
    const std::size_t h = window / 3, w = window % 3;
    for (std::size_t m = 0; m < 2; ++m) e.pixel(m, 2 * h + 1, 2 * w + 1) += kConvolved[window][m] - e.sum(m, h, w);
  }
  return e;
}

// (height, width, filter) -> (filter, height, width).
std::vector<double> channels_first(bool rectified) {
  std::vector<double> out;
  for (std::size_t m = 0; m < 2; ++m) {
    for (const auto& pixel : kConvolved) out.push_back(rectified ? std::max(pixel[m], 0.0) : pixel[m]);
  }
  return out;
}

TEST(DnnOnGpuLecture, EveryStageHasThePrintedNumbers) {
  const Example e = example();
  for (const DType dtype : {f64, f32}) {
    const auto typed = [&](const std::vector<double>& values, const Shape& shape) { return cast(tensor(values, shape), dtype); };
    const Tensor x = typed(e.image, {1, 3, 7, 7});
    const Tensor convolved = conv2d(x, typed(e.filters, {2, 3, 3, 3}), typed({0, 0}, {2}), {.stride = 2});  // (1, 2, 3, 3)
    EXPECT_EQ(convolved.shape(), (Shape{1, 2, 3, 3}));
    expect_close(convolved, channels_first(false), 0);

    const Tensor rectified = relu(convolved);
    expect_close(rectified, channels_first(true), 0);

    const Tensor pooled = max_pool2d(rectified, 2, {.stride = 1});  // (1, 2, 2, 2)
    EXPECT_EQ(pooled.shape(), (Shape{1, 2, 2, 2}));
    const Tensor vector = flatten(pooled, 1);  // (1, 8)
    EXPECT_EQ(vector.shape(), (Shape{1, 8}));
    expect_close(vector, {9, 9, 9, 9, 7, 1, 6, 0}, 0);

    const Tensor y = softmax(vector);
    const std::vector<double> printed{2.3891544e-01, 2.3891544e-01, 2.3891544e-01, 2.3891544e-01,
                                      3.2333687e-02, 8.0147205e-05, 1.1894900e-02, 2.9484507e-05};
    const auto values = y.to_host<double>();
    for (std::size_t i = 0; i < printed.size(); ++i) EXPECT_NEAR(values[i], printed[i], 5e-7 * printed[i]) << i;
  }
}

TEST(DnnOnGpuLecture, TheNetworkHasTheCountedParameters) {
  // Two 3x3x3 filters, a dense layer of 8 and two softmax neurons, each with biases.
  const Shape parameters[] = {{2, 3, 3, 3}, {2}, {8, 8}, {8}, {2, 8}, {2}};
  std::int64_t total = 0;
  for (const auto& shape : parameters) total += numel(shape);
  EXPECT_EQ(total, 146);
}

TEST(DnnOnGpuLecture, TheDigitNetworkShrinksTo7x7x32) {
  Tensor x = tensor(std::vector<float>(28 * 28), {1, 1, 28, 28});
  const auto weight = [](std::int64_t out, std::int64_t in, std::int64_t window) {
    return tensor(std::vector<float>(static_cast<std::size_t>(out * in * window * window)), {out, in, window, window});
  };
  x = conv2d(x, weight(12, 1, 3), {.padding = Same});
  EXPECT_EQ(x.shape(), (Shape{1, 12, 28, 28}));
  x = conv2d(x, weight(24, 12, 6), {.stride = 2, .padding = Same});
  EXPECT_EQ(x.shape(), (Shape{1, 24, 14, 14}));
  x = conv2d(x, weight(32, 24, 6), {.stride = 2, .padding = Same});
  EXPECT_EQ(x.shape(), (Shape{1, 32, 7, 7}));
  EXPECT_EQ(flatten(x, 1).shape(), (Shape{1, 1568}));
}

}  // namespace
}  // namespace tegula::test
