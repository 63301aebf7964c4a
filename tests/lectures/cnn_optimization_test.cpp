// "Optimization for convolution neural network on GPU": output sizes with padding, stride and dilation in PyTorch and TensorFlow, the
// pooling example, and the fusion of convolution and batch normalisation.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/values.h"

namespace tegula::test {
namespace {

Tensor zeros_of(const Shape& shape) { return tensor(std::vector<float>(static_cast<std::size_t>(numel(shape))), shape); }

std::int64_t height(std::int64_t size, std::int64_t window, const ConvolutionOptions& options) {
  return conv2d(zeros_of({1, 1, size, size}), zeros_of({1, 1, window, window}), options).size(2);
}

TEST(CnnOptimizationLecture, SizesOfTheWorkedExamples) {
  EXPECT_EQ(height(28, 5, {}), 24);                              // H - kH + 1
  EXPECT_EQ(height(28, 5, {.padding = 2}), 28);                  // H + 2 pH - kH + 1 (one line of the lecture has a minus before 2 pH)
  EXPECT_EQ(height(28, 5, {.stride = 2, .padding = 2}), 14);     // PyTorch rounds (28 + 4 - 5) / 2 = 13.5 down
  EXPECT_EQ(height(7, 3, {.padding = 1}), 7);
}

TEST(CnnOptimizationLecture, PyTorchRoundsDown) {
  for (std::int64_t size = 1; size <= 20; ++size) {
    for (std::int64_t window = 1; window <= 5; ++window) {
      for (std::int64_t stride = 1; stride <= 3; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
          const std::int64_t padding = window / 2, reach = dilation * (window - 1) + 1;
          if (size + 2 * padding < reach) continue;
          EXPECT_EQ(height(size, window, {.stride = stride, .padding = padding, .dilation = dilation}),
                    (size + 2 * padding - reach) / stride + 1)
              << size << " " << window << " " << stride << " " << dilation;
        }
      }
    }
  }
}

// The lecture writes ceil((H + 2 pH - kH) / sH) + 1 for TensorFlow, which for its own example (28, window 5, stride 2) gives 15. TensorFlow knows
// no pH: "same" gives ceil(H / sH) = 14 and "valid" ceil((H - reach + 1) / sH) = 12; those are tested.
TEST(CnnOptimizationLecture, TensorFlowRoundsUp) {
  EXPECT_EQ(height(28, 5, {.stride = 2, .padding = Same}), 14);
  EXPECT_EQ(height(28, 5, {.stride = 2, .padding = Valid}), 12);
  for (std::int64_t size = 1; size <= 20; ++size) {
    for (std::int64_t window = 1; window <= 5; ++window) {
      for (std::int64_t stride = 1; stride <= 3; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
          EXPECT_EQ(height(size, window, {.stride = stride, .padding = Same, .dilation = dilation}), (size + stride - 1) / stride);
          const std::int64_t reach = dilation * (window - 1) + 1;
          if (size < reach) continue;
          EXPECT_EQ(height(size, window, {.stride = stride, .padding = Valid, .dilation = dilation}),
                    (size - reach + 1 + stride - 1) / stride);
        }
      }
    }
  }
}

TEST(CnnOptimizationLecture, SamePutsTheOddPixelAtTheEnd) {
  // Window 2, stride 1: one pixel of padding, after the image, so the first output sees pixels 0 and 1.
  const Tensor y = conv1d(tensor({1.f, 2.f, 4.f}, {1, 1, 3}), tensor({1.f, 10.f}, {1, 1, 2}), {.padding = Same});
  expect_close(y, {21, 42, 4}, 0);
}

TEST(CnnOptimizationLecture, MaxPoolingExample) {
  const Tensor x = tensor({1.f, 3.f, 2.f, 9.f, 7.f, 4.f, 1.f, 5.f, 8.f, 5.f, 2.f, 3.f, 4.f, 2.f, 1.f, 4.f}, {1, 1, 4, 4});
  expect_close(max_pool2d(x, 2), {7, 9, 8, 4}, 0);  // the lecture leaves the last number to the reader
  expect_close(avg_pool2d(x, 2), {3.75, 4.25, 4.75, 2.5}, 0);
  expect_close(global_avg_pool(x), {61.0 / 16}, 1e-7);
}

TEST(CnnOptimizationLecture, BatchNormalizationFoldsIntoTheConvolution) {
  std::mt19937 engine(8);
  const Tensor x = tensor(random_numbers(2 * 3 * 6 * 6, engine), {2, 3, 6, 6}), w = tensor(random_numbers(4 * 3 * 9, engine), {4, 3, 3, 3});
  const auto vector = [&](double low, double high) { return tensor(random_numbers(4, engine, low, high), {4}); };
  const Tensor b = vector(-1, 1), gamma = vector(0.5, 2), beta = vector(-1, 1), m = vector(-1, 1), variance = vector(0.1, 2);
  const Tensor apart = batch_norm(conv2d(x, w, b), m, variance, {.weight = gamma, .bias = beta, .eps = 1e-5});
  const Tensor factor = gamma / sqrt(variance + 1e-5);
  const Tensor folded = conv2d(x, reshape(factor, {4, 1, 1, 1}) * w, factor * (b - m) + beta);
  expect_close(apart, folded.to_host<double>(), 1e-12);
}

TEST(CnnOptimizationLecture, BatchNormalizationGivesMean0AndVariance1) {
  std::mt19937 engine(9);
  const auto result = batch_norm_training(tensor(random_numbers(8 * 3 * 5, engine, 2, 9), {8, 3, 5}), {.eps = 0});
  const auto y = result.y.to_host<double>();
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t n = 0; n < 8; ++n) {
      for (std::size_t i = 0; i < 5; ++i) {
        const double value = y[(n * 3 + c) * 5 + i];
        sum += value, squares += value * value;
      }
    }
    EXPECT_NEAR(sum / 40, 0, 1e-12);
    EXPECT_NEAR(squares / 40, 1, 1e-12);
  }
}

}  // namespace
}  // namespace tegula::test
