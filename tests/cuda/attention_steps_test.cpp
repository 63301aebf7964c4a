// The steps of attention on paper, with a cuDNN that knows an engine for every graph: dense copies of what it does not read or write where it lies, lengths as it
// counts them, the engine. All of them are steps of plans.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tegula/core/check.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

using runtime::Access;
using runtime::Attention;
using runtime::StepOperand;

class CudaAttentionSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (const char* const word = std::getenv("TEGULA_FAKE_DNN"); !word || std::string(word) != "graphs")
      GTEST_SKIP() << "asks what an engine for every graph leaves";
    before_ = &default_device();
    set_default_device(cuda());
  }
  void TearDown() override {
    if (before_) set_default_device(*before_);
  }
  Device* before_ = nullptr;
};

constexpr std::int64_t kSamples = 2, kHeads = 4, kRows = 128, kWidth = 64;
const Layout kDense = Layout::dense({kSamples, kHeads, kRows, kWidth});
/// (B, T, H, D) by heads, with room for four more numbers behind each token: rows that begin elsewhere than at eights.
const Layout kOdd{kDense.shape, {kRows * (kHeads * kWidth + 4), kWidth, kHeads* kWidth + 4, 1}};

Attention described(bool backward) {
  Attention d{.backward = backward, .q = {bf16, kDense}, .k = {bf16, kDense}, .v = {bf16, kDense}};
  if (backward) d.o = d.o_gradient = {bf16, Layout::dense({kSamples, kRows, kHeads, kWidth})};
  return d;
}

/// The names of the steps, and of each buffer whether it is read or written, and whether it is the call's or a temporary: "copy of the keys r1 wt0".
std::vector<std::string> steps_of(const Attention& d) {
  const auto call = cuda().make(d);
  std::vector<std::string> out;
  if (!call->steps()) return out;
  for (const auto& step : call->steps()->steps) {
    std::string text = step.name.empty() ? "engine" : step.name;
    for (const StepOperand& operand : step.operands) {
      text += operand.access == Access::Reads ? " r" : " w";
      text += (operand.kind == StepOperand::Kind::Temporary ? "t" : "") + std::to_string(operand.index);
    }
    out.push_back(text);
  }
  return out;
}

using Steps = std::vector<std::string>;

TEST_F(CudaAttentionSteps, OneWhereEverythingLiesAsTheEngineTakesIt) {
  EXPECT_EQ(steps_of(described(false)), Steps());
  EXPECT_EQ(steps_of(described(true)), Steps());
}

TEST_F(CudaAttentionSteps, CopiesComeAheadOfTheEngine) {
  Attention d = described(false);
  d.q.layout = d.v.layout = kOdd;
  EXPECT_EQ(steps_of(d), (Steps{"copy of the queries r0 wt0", "copy of the values r2 wt1", "engine rt0 r1 rt1 w3 w4"}));
}

TEST_F(CudaAttentionSteps, GradientsThatLieElsewhereAreCopiedBehindIt) {
  Attention d = described(true);
  d.gradients[1] = {bf16, {{kSamples, kRows, kHeads, kWidth}, {kRows * (kHeads * kWidth + 4), kHeads * kWidth + 4, kWidth, 1}}};
  EXPECT_EQ(steps_of(d), (Steps{"engine r0 r1 r2 r3 r4 r5 w6 wt0 w8", "copy of the gradient of the keys rt0 w7"}));
}

TEST_F(CudaAttentionSteps, LengthsBecomeNumbersOfQueriesAndKeys) {
  Attention d = described(false);
  d.lengths = true;
  EXPECT_EQ(steps_of(d), (Steps{"lengths r3 wt0 wt1", "engine r0 r1 r2 rt0 rt1 w4 w5"}));
}

TEST_F(CudaAttentionSteps, ARunHasThemInScratchMemory) {
  Attention d = described(false);
  d.q.layout = kOdd;
  const auto call = cuda().make(d);
  const std::size_t queries = kSamples * kHeads * kRows * kWidth * 2, workspace = 8192;
  EXPECT_EQ(call->steps()->temporaries, std::vector{queries});
  EXPECT_EQ(call->scratch_bytes(), queries + workspace);
}

TEST_F(CudaAttentionSteps, APlanShowsThemAndHasTheirTemporariesInItsArena) {
  const Checking plans(Check::Plan, true);
  auto f = jit([](Tensor packed) {
    const auto heads = [&](std::int64_t i) {
      return permute(reshape(slice(packed, 2, {i * 256, (i + 1) * 256}), {kSamples, kRows, kHeads, kWidth}), {0, 2, 1, 3});
    };
    const Tensor y = scaled_dot_product_attention(heads(0), heads(1), heads(2), {.causal = true});
    return std::pair(y, grad(sum(cast(y, f32)), packed));
  });
  f(zeros({kSamples, kRows, 3 * kHeads * kWidth + 4}, bf16));
  const std::string plan = f.print_plan();
  EXPECT_NE(plan.find("attention, copy of the queries [kernel "), std::string::npos) << plan;
  EXPECT_NE(plan.find("[cuDNN engine 1, workspace 8 KiB: attention forward"), std::string::npos) << plan;
  EXPECT_NE(plan.find("[cuDNN engine 1, workspace 8 KiB: attention backward"), std::string::npos) << plan;
  const std::string memory = f.print_memory();
  EXPECT_NE(memory.find("copy of the queries"), std::string::npos) << memory;
}

}  // namespace
}  // namespace tegula
