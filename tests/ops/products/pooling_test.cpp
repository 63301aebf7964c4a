#include "tegula/ops/products/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

const std::vector<double> kGrid{1, 3, 2, 9, 7, 4, 1, 5, 8, 5, 2, 3, 4, 2, 1, 4};
Tensor grid() { return tensor(kGrid, {1, 1, 4, 4}); }

INSTANTIATE_DECLARED_CASES(Pooling, pooling_cases());

TEST(Pooling, KnownValues) {
  EXPECT_EQ(max_pool2d(grid(), 2).to_host<double>(), (std::vector<double>{7, 9, 8, 4}));
  EXPECT_EQ(max_pool2d(grid(), 2, {.stride = 1}).to_host<double>(), (std::vector<double>{7, 4, 9, 8, 5, 5, 8, 5, 4}));
  EXPECT_EQ(avg_pool2d(grid(), 2).to_host<double>(), (std::vector<double>{3.75, 4.25, 4.75, 2.5}));
  EXPECT_EQ(global_max_pool(grid()).to_host<double>(), (std::vector<double>{9}));
}

TEST(Pooling, PaddingIsMinusInfinityForTheMaximumAndZeroForTheMean) {
  const Tensor x = tensor({-1.0, -2.0, -3.0}, {1, 1, 3});
  EXPECT_EQ(max_pool1d(x, 3, {.stride = 1, .padding = 1}).to_host<double>(), (std::vector<double>{-1, -1, -2}));
  EXPECT_EQ(avg_pool1d(x, 3, {.stride = 1, .padding = 1}).to_host<double>(), (std::vector<double>{-1, -2, -5.0 / 3}));
  EXPECT_EQ(avg_pool1d(x, 3, {.stride = 1, .padding = 1, .count_include_pad = false}).to_host<double>(),
            (std::vector<double>{-1.5, -2, -2.5}));
}

TEST(Pooling, CeilModeDividesByWhatIsInsideThePaddedInput) {
  // PyTorch: windows begin at 0, 2 and 4; the last holds one element.
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0}, {1, 1, 5});
  EXPECT_EQ(avg_pool1d(x, 2, {.ceil_mode = true}).to_host<double>(), (std::vector<double>{1.5, 3.5, 5}));
  EXPECT_EQ(max_pool1d(x, 2, {.ceil_mode = true}).to_host<double>(), (std::vector<double>{2, 4, 5}));
  EXPECT_EQ(max_pool1d(x, 2).to_host<double>(), (std::vector<double>{2, 4}));
}

TEST(Pooling, TheGradientGoesToTheFirstMaximumOfEachWindow) {
  const Tensor x = tensor({2.0, 2.0, 1.0, 3.0}, {1, 1, 4});
  EXPECT_EQ(grad(sum(max_pool1d(x, 2)), x).to_host<double>(), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(grad(sum(max_pool1d(x, 2, {.stride = 1})), x).to_host<double>(), (std::vector<double>{1, 1, 0, 1}));
}

TEST(Pooling, NanIsTheMaximum) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto y = max_pool1d(tensor({1.0, nan, 2.0, 3.0}, {1, 1, 4}), 2).to_host<double>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 3);
}

TEST(Pooling, AdaptiveWindowsAreThoseOfPyTorch) {
  // 5 -> 3: [0, 2), [1, 4), [3, 5).
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0}, {1, 1, 5});
  EXPECT_EQ(adaptive_avg_pool1d(x, 3).to_host<double>(), (std::vector<double>{1.5, 3, 4.5}));
  EXPECT_EQ(adaptive_max_pool1d(x, 3).to_host<double>(), (std::vector<double>{2, 4, 5}));
}

TEST(Pooling, ErrorsSayWhatDoesNotFit) {
  EXPECT_NE(message_of([] { max_pool2d(grid(), 5); }).find("max_pool2d: got shape (1, 1, 4, 4) and window (5, 5)"), std::string::npos);
  EXPECT_NE(message_of([] { max_pool2d(ones({1, 4, 4}, boolean), 2); }).find("got bool of shape (1, 4, 4), expected numbers"),
            std::string::npos);
  EXPECT_NE(message_of([] { max_pool2d(grid(), 0); }).find("window (0,)"), std::string::npos);
  EXPECT_NE(message_of([] { max_pool3d(tensor(kGrid, {4, 4}), 2); }).find("f64 of shape (4, 4)"), std::string::npos);
  EXPECT_NE(message_of([] { avg_pool2d(tensor(std::vector<int>(16), {1, 1, 4, 4}), 2); }).find("i32 of shape (1, 1, 4, 4)"),
            std::string::npos);
}

TEST(Pooling, PaddingMayBeLargerThanTheWindow) {
  const double low = -std::numeric_limits<double>::infinity();
  const Tensor x = tensor({-1.0, -2.0, -3.0}, {1, 3});
  EXPECT_EQ(max_pool1d(x, 2, {.padding = 3}).to_host<double>(), (std::vector<double>{low, -1, -2, low}));
  EXPECT_EQ(grad(sum(max_pool1d(x, 2, {.stride = 1, .padding = 3})), x).to_host<double>(), (std::vector<double>{2, 1, 1}));
  EXPECT_EQ(avg_pool1d(x, 2, {.padding = 3}).to_host<double>(), (std::vector<double>{0, -0.5, -2.5, 0}));
  EXPECT_EQ(avg_pool1d(x, 2, {.padding = 3, .count_include_pad = false}).to_host<double>(), (std::vector<double>{0, -1, -2.5, 0}));
}

TEST(Pooling, AveragesOfDilatedWindows) {
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0}, {1, 5});
  EXPECT_EQ(avg_pool1d(x, 2, {.stride = 1, .dilation = 3}).to_host<double>(), (std::vector<double>{2.5, 3.5}));
  // The window at 2 has its second element behind the padded input: one element counts.
  EXPECT_EQ(avg_pool1d(x, 2, {.stride = 2, .dilation = 4, .ceil_mode = true}).to_host<double>(), (std::vector<double>{3}));
  EXPECT_EQ(avg_pool1d(x, 2, {.stride = 2, .dilation = 3, .ceil_mode = true}).to_host<double>(), (std::vector<double>{2.5, 3}));
}

TEST(Pooling, MaximaOfIntegers) {
  const std::int64_t big = (std::int64_t{1} << 60) + 1;  // no number of f64
  const Tensor x = tensor<std::int64_t>({-5, big, big - 1, -7}, {1, 4});
  EXPECT_EQ(max_pool1d(x, 2).to_host<std::int64_t>(), (std::vector<std::int64_t>{big, big - 1}));
  EXPECT_EQ(max_pool1d(tensor<std::uint64_t>({~std::uint64_t{0}, 3}, {1, 2}), 2).to_host<std::uint64_t>(),
            std::vector<std::uint64_t>{~std::uint64_t{0}});
  EXPECT_EQ(max_pool1d(tensor<std::int8_t>({-5, -6}, {1, 2}), 1, {.stride = 1, .padding = 1}).to_host<std::int8_t>(),
            (std::vector<std::int8_t>{-128, -5, -6, -128}));
  // Results are those of floats, in every layout of the channels.
  const Tensor image = reshape(cast(remainder(arange(2 * 3 * 7 * 6) * 37, 101), i32) - 50, {2, 3, 7, 6});
  const MaxPoolOptions options{.stride = {2, 1}, .padding = 1, .dilation = {1, 2}, .ceil_mode = true};
  const Tensor want = max_pool2d(cast(image, f32), {3, 2}, options);
  EXPECT_EQ(max_pool2d(image, {3, 2}, options).to_host<float>(), want.to_host<float>());
  MaxPoolOptions last = options;
  last.layout = Layout::NHWC;
  EXPECT_EQ(max_pool2d(permute(image, {0, 2, 3, 1}), {3, 2}, last).to_host<float>(), permute(want, {0, 2, 3, 1}).to_host<float>());
}

TEST(Pooling, CeilModeIsTheSameInAJit) {
  auto f = jit([](Tensor x) { return avg_pool2d(x, 2, {.stride = 2, .ceil_mode = true}); });
  const Tensor x = reshape(arange(0.0, 25.0, 1.0, f64), {1, 1, 5, 5}), want = avg_pool2d(x, 2, {.stride = 2, .ceil_mode = true});
  EXPECT_EQ(want.to_host<double>(), (std::vector<double>{3, 5, 6.5, 13, 15, 16.5, 20.5, 22.5, 24}));
  for (int call = 0; call < 3; ++call) EXPECT_EQ(f(x).to_host<double>(), want.to_host<double>());
}

}  // namespace
}  // namespace tegula
