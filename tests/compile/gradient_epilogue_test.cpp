// Products that multiply by the derivative behind them, on a device that prefers it so.

#include <gtest/gtest.h>

#include <tegula/tegula.h>

#include "tests/support/emulator.h"
#include "tests/support/occurrences.h"

namespace tegula {
namespace {

/// The CPU's kernels and products, and such products.
class GradientEpilogue : public testing::Test {
 protected:
  GradientEpilogue() : before_(default_device()) { set_default_device(eager()); }
  ~GradientEpilogue() override { set_default_device(before_); }

  static Device& eager() {
    static const auto device = gpu::device_with([](const tile::Program& program) { return cpu().compile(program); });
    return *device;
  }

 private:
  Device& before_;
};

struct Block {
  nn::Linear up{300, 200}, down{200, 300};
  Tensor operator()(Tensor x) { return down(gelu(up(x), Approximate::Tanh)); }
};

void expect_close(const std::vector<Tensor>& got, const std::vector<std::vector<float>>& expected, float tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto values = got[i].to_host<float>();
    ASSERT_EQ(values.size(), expected[i].size());
    float largest = 0;
    for (float value : expected[i]) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < values.size(); ++k)
      ASSERT_NEAR(values[k], expected[i][k], tolerance * largest) << "gradient " << i << " at " << k;
  }
}

/// Gradients of all parameters, with their values on the CPU.
void check(const Shape& shape, Precision precision, float tolerance) {
  manual_seed(3);
  Block net;
  Tensor x = normal(shape), target = normal(shape);
  for (const Parameter& p : parameters(net)) eval(p.read());
  eval(x, target);
  const PrecisionScope scope(precision);
  const auto gradients = [&](Tensor x, Tensor target) { return grad(sum(net(x) * target), parameters(net)); };
  auto step = jit(gradients);
  const std::vector<Tensor> got = step(x, target);
  const std::string plan = step.print_plan();
  EXPECT_EQ(test::occurrences(plan, "times a derivative"), 1) << plan;
  EXPECT_EQ(plan.find("gelu_tanh_gradient"), std::string::npos) << plan;
  std::vector<std::vector<float>> values;
  for (const Tensor& one : got) values.push_back(one.to_host<float>());
  set_default_device(cpu());
  expect_close(jit(gradients)(x, target), values, tolerance);
}

TEST_F(GradientEpilogue, AProductMultipliesByTheDerivative) { check({64, 300}, Precision::fp32, 1e-5F); }

TEST_F(GradientEpilogue, AReshapeBetweenProductAndActivationMovesBehindThem) { check({4, 16, 300}, Precision::fp32, 1e-5F); }

TEST_F(GradientEpilogue, HalvesToo) { check({4, 16, 300}, Precision::bf16, 2e-2F); }

// Few terms forwards, many for the weight's gradient: each is written as its own size asks for.
TEST_F(GradientEpilogue, GradientsOfASumOfProductsMayBeProducts) {
  Tensor x = normal({1024, 128}), w = normal({128, 10}), dy = normal({1024, 10});
  eval(x, w, dy);
  auto forward = jit([](Tensor x, Tensor w) { return matmul(x, w); });
  forward(x, w);
  EXPECT_EQ(forward.print_plan().find("call matmul"), std::string::npos) << forward.print_plan();
  const auto gradients = [](Tensor x, Tensor w, Tensor dy) { return vjp({matmul(x, w)}, {dy}, {x, w}); };
  auto backward = jit(gradients);
  const std::vector<Tensor> got = backward(x, w, dy);
  EXPECT_EQ(test::occurrences(backward.print_plan(), "call matmul"), 1) << backward.print_plan();  // the product of w
  EXPECT_EQ(test::occurrences(backward.print_plan(), "multiply_sum"), 1) << backward.print_plan();  // the product of x
  std::vector<std::vector<float>> values;
  for (const Tensor& one : got) values.push_back(one.to_host<float>());
  set_default_device(cpu());
  expect_close(jit(gradients)(x, w, dy), values, 1e-5F);
}

}  // namespace
}  // namespace tegula
