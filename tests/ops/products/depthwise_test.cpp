// Depthwise convolutions by tile programs against the convolutions that they stand for.

#include "tegula/ops/products/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <span>

#include "tegula/compile/sizes.h"
#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_near;

using runtime::ConvolutionPass;

struct Problem {
  Shape x, window;
  ConvolutionOptions options;
};

const Problem kProblems[] = {{{2, 16, 8, 8}, {3, 3}, {.padding = 1}},
                             {{1, 70, 9, 7}, {3, 3}, {.stride = 2, .padding = 1}},  // a last tile of channels that is not full
                             {{3, 5, 6, 11}, {3, 2}, {.stride = {2, 3}, .padding = Padding::sides({1, 0}, {2, 1}), .dilation = {1, 2}}},
                             {{2, 33, 40}, {4}, {.padding = Padding::sides(3, 0)}},  // causal
                             {{1, 6, 5, 6, 4}, {2, 3, 3}, {.stride = {1, 2, 1}, .padding = {1, 1, 0}}},
                             {{2, 8, 16, 16}, {7, 7}, {.padding = 3}},  // more taps than an instance adds up
                             {{8, 2, 64, 64}, {3, 3}, {.padding = 1}},  // sums that are shared out
                             {{1, 3, 2, 2}, {2, 2}, {}}};

Tensor convolution(const Problem& p, const Tensor& x, const Tensor& weight) {
  return p.window.rank() == 1   ? conv1d(x, weight, p.options)
         : p.window.rank() == 2 ? conv2d(x, weight, p.options)
                                : conv3d(x, weight, p.options);
}

/// Within `tolerance` of the largest element, or of 1.
void expect_near_largest(const Tensor& found, const Tensor& expected, double tolerance, const char* what) {
  EXPECT_EQ(found.dtype(), expected.dtype()) << what;
  expect_near(found, expected, tolerance * std::max(1.0, max(abs(cast(expected, f64))).item<double>()), what);
}

double tolerance_of(DType dtype) { return dtype == f64 ? 1e-13 : dtype == f32 ? 1e-5 : dtype == f16 ? 2e-3 : 1.6e-2; }

TEST(Depthwise, IsTheConvolutionInEveryPassAndDType) {
  manual_seed(6);
  for (const Problem& p : kProblems) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      SCOPED_TRACE(to_string(p.x) + " " + std::string(name(dtype)));
      const std::int64_t channels = p.x[1];
      Problem grouped = p;
      grouped.options.groups = channels;
      Shape weight_shape{channels, 1};
      for (const auto size : p.window) weight_shape.push_back(size);
      const Tensor x = drawn(p.x, dtype), weight = drawn(weight_shape, dtype);
      // The expected values in f64: halves are exact in it.
      const Tensor x64 = cast(x, f64), weight64 = cast(weight, f64), y64 = convolution(grouped, x64, weight64);
      const Tensor dy = drawn(y64.shape(), dtype);
      const auto gradients = grad(sum(y64 * cast(dy, f64)), {x64, weight64});
      ASSERT_TRUE(ops::describes_depthwise(x.shape(), weight.shape(), channels));

      const Dims spatial(std::span(p.x.begin() + 2, static_cast<std::size_t>(p.x.rank() - 2)));
      const Window window = make_window(spatial, p.window, p.options.stride, p.options.padding, p.options.dilation, "test", {});
      const double tolerance = tolerance_of(dtype);
      expect_near_largest(ops::depthwise(ConvolutionPass::Forward, window, x, weight, y64.shape()), cast(y64, dtype), tolerance, "forward");
      expect_near_largest(ops::depthwise(ConvolutionPass::BackwardData, window, dy, weight, x.shape()), cast(gradients[0], dtype),
                          tolerance, "data");
      expect_near_largest(ops::depthwise(ConvolutionPass::BackwardWeight, window, x, dy, weight.shape()), cast(gradients[1], dtype),
                          tolerance, "weight");
    }
  }
}

TEST(Depthwise, IsForGroupsOfOneChannelAndSmallWindows) {
  EXPECT_TRUE(ops::describes_depthwise({1, 4, 8, 8}, {4, 1, 8, 8}, 4));
  EXPECT_FALSE(ops::describes_depthwise({1, 4, 9, 9}, {4, 1, 9, 9}, 4));  // 81 taps
  EXPECT_FALSE(ops::describes_depthwise({1, 4, 8, 8}, {8, 1, 3, 3}, 4));  // two filters a channel
  EXPECT_FALSE(ops::describes_depthwise({1, 4, 8, 8}, {4, 2, 3, 3}, 2));
  EXPECT_FALSE(ops::describes_depthwise({1, 1, 8, 8}, {1, 1, 3, 3}, 1));  // no groups
  EXPECT_FALSE(ops::describes_depthwise({0, 4, 8, 8}, {4, 1, 3, 3}, 4));
}

/// A device like a GPU, which wants images channels-last.
class ChannelsLast : public test::QueuedDevice {
 public:
  static ChannelsLast& device() {
    static auto& one = *new ChannelsLast;  // see QueuedDevice::create
    return one;
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    const auto* const asked = std::get_if<runtime::Convolution>(&d);
    if (!asked || asked->dtype() == f64 || !runtime::cpu().takes(d)) return QueuedDevice::candidates(d);
    runtime::Convolution best = *asked;
    best.input.layout = Layout::channels_last(best.input.layout.shape),
    best.output.layout = Layout::channels_last(best.output.layout.shape);
    return {{best}, {d}};
  }
};

/// Three of them between 1 x 1 convolutions, with a transposed one behind; a loss, then its gradients.
std::vector<Tensor> net(const Tensor& x, std::span<const Tensor> w) {
  const auto depthwise = [](const Tensor& t, const Tensor& weight, std::int64_t stride) {
    return conv2d(t, weight, {.stride = stride, .padding = 1, .groups = t.size(1)});
  };
  Tensor y = relu(conv2d(tanh(depthwise(x, w[0], 1)), w[1]));
  y = tanh(depthwise(y, w[2], 2));
  y = conv_transpose2d(y, w[3], {.stride = 2, .padding = 1, .output_padding = 1, .groups = y.size(1)});
  const Tensor loss = mean(square(cast(y, x.dtype() == f64 ? f64 : f32)));
  std::vector<Wrt> wanted{x};
  wanted.insert(wanted.end(), w.begin(), w.end());
  std::vector<Tensor> out = grad(loss, wanted);
  out.push_back(loss);
  return out;
}
std::vector<Tensor> numbers(DType dtype) {
  manual_seed(8);
  std::vector<Tensor> all;
  for (const Shape& shape : {Shape{2, 8, 6, 6}, {8, 1, 3, 3}, {12, 8, 1, 1}, {12, 1, 3, 3}, {12, 1, 3, 3}})
    all.push_back(cast(drawn(shape, f32), dtype));
  return all;
}

/// Launches of a program, those that go together ("x2") as so many.
int launches(const std::string& plan, const std::string& name) {
  int sum = 0;
  const std::regex line("tile " + name + "( x([0-9]+))?:");
  for (std::sregex_iterator it(plan.begin(), plan.end(), line), end; it != end; ++it) sum += (*it)[2].matched ? std::stoi((*it)[2]) : 1;
  return sum;
}

TEST(Depthwise, TakesThePlaceOfCallsWhereKernelsAreMade) {
  const auto in_f64 = numbers(f64);
  const auto expected = net(in_f64[0], std::span(in_f64).subspan(1));
  const test::OnDevice here(ChannelsLast::device());
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(std::string(name(precision)));
    const auto in = numbers(f32);
    auto step = jit([&](Tensor x, Tensor a, Tensor b, Tensor c, Tensor d) {
      const PrecisionScope scope(precision);
      return net(x, std::array{a, b, c, d});
    });
    const auto found = step(in[0], in[1], in[2], in[3], in[4]);
    for (std::size_t k = 0; k < found.size(); ++k)
      expect_near_largest(found[k], cast(expected[k], f32), precision == Precision::fp32 ? 1e-5 : 3e-2,
                          k + 1 == found.size() ? "loss" : "gradient");
    if (compile::forced_ladder().on) continue;  // there a program for each size is to be avoided: all are calls
    const std::string plan = step.print_plan();
    EXPECT_EQ(test::occurrences(plan, "call convolution"), 3) << plan;  // the 1 x 1 ones: forward, and its two gradients
    EXPECT_EQ(launches(plan, "depthwise"), 3) << plan;  // two forward, and the gradient of the transposed one
    EXPECT_EQ(launches(plan, "depthwise_backward_data"), 3) << plan;
    EXPECT_EQ(launches(plan, "depthwise_backward_weight"), 3) << plan;
  }
}

/// The weights of all of them lie by tap for both passes, and are put so ahead of everything.
TEST(Depthwise, WeightsAreTurnedOnceAheadOfAllPasses) {
  if (compile::forced_ladder().on) GTEST_SKIP() << "all are calls there";
  const test::OnDevice here(ChannelsLast::device());
  const auto in = numbers(f32);
  auto step = jit([&](Tensor x, Tensor a, Tensor b, Tensor c, Tensor d) { return net(x, std::array{a, b, c, d}); });
  step(in[0], in[1], in[2], in[3], in[4]);
  const std::string plan = step.print_plan();
  const std::size_t first = plan.find("tile depthwise");
  ASSERT_NE(first, std::string::npos) << plan;
  EXPECT_GE(test::occurrences(plan.substr(0, first), "tile copy"), 1) << plan;
  EXPECT_EQ(test::occurrences(plan.substr(first), "tile copy"), 1) << plan;  // the gradient of x, a result, which is row-major
}

}  // namespace
}  // namespace tegula
