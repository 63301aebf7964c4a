// The steps of convolutions and products on paper, with a cuDNN that knows one engine for graphs of one operation: copies into the order that it takes, the engine,
// the kernel behind it for the rest. All of them are steps of plans.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tegula/runtime/call_steps.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

using runtime::Access;
using runtime::Convolution;
using runtime::ConvolutionPass;
using runtime::StepOperand;

class CudaConvolutionSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (!std::getenv("TEGULA_FAKE_DNN")) GTEST_SKIP() << "asks what an engine of one operation leaves";
    before_ = &default_device();
    set_default_device(cuda());
  }
  void TearDown() override {
    if (before_) set_default_device(*before_);
  }
  Device* before_ = nullptr;
};

/// f16, 16 channels to 32, windows of 3 with padding.
Convolution described(ConvolutionPass pass) {
  Convolution d{.pass = pass};
  d.input = {f16, Layout::channels_last({2, 16, 8, 8})};
  d.weight = {f16, Layout::channels_last({32, 16, 3, 3})};
  d.output = {f16, Layout::channels_last({2, 32, 8, 8})};
  d.stride = d.dilation = d.pad_low = d.pad_high = {1, 1};
  return d;
}

/// The names of the steps, and of each buffer whether it is read, written or updated, and whether it is the call's or a temporary: "copy of the input r0 wt0".
std::vector<std::string> steps_of(const Convolution& d) {
  const auto call = cuda().make(d);
  std::vector<std::string> out;
  if (!call->steps()) return out;
  for (const auto& step : call->steps()->steps) {
    std::string text = step.name.empty() ? "engine" : step.name;
    for (const StepOperand& operand : step.operands) {
      text += operand.access == Access::Reads ? " r" : operand.access == Access::Writes ? " w" : " u";
      text += (operand.kind == StepOperand::Kind::Temporary ? "t" : "") + std::to_string(operand.index);
    }
    out.push_back(text);
  }
  return out;
}

using Steps = std::vector<std::string>;

TEST_F(CudaConvolutionSteps, OneWhereEverythingLiesAsTheEngineTakesIt) {
  EXPECT_EQ(steps_of(described(ConvolutionPass::Forward)), Steps());
}

TEST_F(CudaConvolutionSteps, CopiesComeAheadOfTheEngineAndAnEpilogueBehindIt) {
  Convolution d = described(ConvolutionPass::Forward);
  d.weight.layout = Layout::dense(d.weight.layout.shape);
  d.input.layout = Layout::dense(d.input.layout.shape);
  d.epilogue = runtime::expression_of({.channel = true, .tensor = true, .rest = runtime::relu(d.dtype())});
  EXPECT_EQ(steps_of(d), (Steps{"copy of the input r0 wt0", "copy of the weight r1 wt1", "engine rt0 rt1 w4", "epilogue r2 r3 u4"}));
}

TEST_F(CudaConvolutionSteps, AResultInAnotherOrderIsCopiedBehindTheEngine) {
  Convolution d = described(ConvolutionPass::BackwardData);
  d.input.layout = Layout::dense(d.input.layout.shape);
  EXPECT_EQ(steps_of(d), (Steps{"engine wt0 r1 r0", "copy of the input rt0 w2"}));
}

TEST_F(CudaConvolutionSteps, TheGradientOfABiasIsAStep) {
  Convolution d = described(ConvolutionPass::BackwardWeight);
  d.bias_gradient = true;
  EXPECT_EQ(steps_of(d), (Steps{"engine r0 w2 r1", "bias gradient r1 w3"}));
}

TEST_F(CudaConvolutionSteps, ARunHasThemInScratchMemory) {
  Convolution d = described(ConvolutionPass::Forward);
  d.weight.layout = Layout::dense(d.weight.layout.shape);
  const auto call = cuda().make(d);
  const std::size_t weight = 32 * 16 * 9 * 2, workspace = 8192;
  EXPECT_EQ(call->steps()->temporaries, std::vector{weight});
  EXPECT_EQ(call->scratch_bytes(), (weight + 255) / 256 * 256 + workspace);
}

TEST_F(CudaConvolutionSteps, APlanShowsThemAndHasTheirTemporariesInItsArena) {
  auto f = jit([](Tensor x, Tensor w, Tensor b) {
    const Tensor y = relu(conv2d(x, w, b, {.padding = PaddingRule::Same}));
    return grad(sum(y * y), {w});
  });
  f(zeros({2, 4, 9, 9}), zeros({6, 4, 4, 4}), zeros({6}));
  const std::string plan = f.print_plan();
  EXPECT_NE(plan.find("epilogue [kernel "), std::string::npos) << plan;
  EXPECT_NE(plan.find("copy of the input [kernel "), std::string::npos) << plan;  // windows that reach further to one side
  EXPECT_NE(plan.find("[cuDNN engine 1, workspace 8 KiB: convolution backward weight"), std::string::npos) << plan;
  const std::string memory = f.print_memory();
  EXPECT_NE(memory.find("copy of the input"), std::string::npos) << memory;
}

TEST_F(CudaConvolutionSteps, ProductsOfCodesAreOneStepBehindThoseThatMakeTheCodes) {
  const auto product = cuda().make(runtime::Matmul{.a = {u8, Layout::dense({64, 256}), runtime::Scale::Factor},
                                                   .b = {u8, Layout{{256, 32}, {1, 256}}, runtime::Scale::Factor},
                                                   .c = {bf16, Layout::dense({64, 32})}});
  EXPECT_EQ(product->steps(), nullptr);
  auto f = jit([](Tensor x, Tensor w) {
    const PrecisionScope scope(Precision::fp8);
    return linear(x, w);
  });
  f(zeros({64, 256}), zeros({32, 256}));
  const std::string plan = f.print_plan();
  const std::size_t codes = plan.find("e4m3_encode"), call = plan.find("call matmul_e4m3 [cuBLASLt e4m3 to ");
  EXPECT_LT(codes, call) << plan;
  EXPECT_NE(call, std::string::npos) << plan;
}

}  // namespace
}  // namespace tegula
