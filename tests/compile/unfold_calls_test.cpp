// Calls that consist of several steps: they are steps of the plan, with their intermediates in the plan's memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tegula/compile/pipeline.h"
#include "tegula/compile/plan/check_plan.h"
#include "tegula/compile/run/poison.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/tegula.h"
#include "tests/support/stepped_device.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using test::leaf;

using test::SteppedDevice;

Plan plan_of(const Tensor& result) {
  const Node* const node = result.node().get();
  Graph graph = flatten(read(std::span(&node, 1)), std::span(&node, 1), {});
  optimize(graph, SteppedDevice::get());
  return make_plan(std::move(graph), SteppedDevice::get());
}
Plan two_layers() { return plan_of(relu(matmul(relu(matmul(leaf({6, 8}), leaf({8, 16}))), leaf({16, 4}))) + 1.f); }

std::string complaint(const Plan& plan) {
  try {
    check_plan(plan, true);
  } catch (const Error& error) { return error.what(); }
  return "";
}
std::vector<std::size_t> steps_named(const Plan& plan, std::string_view part) {
  std::vector<std::size_t> out;
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].name.find(part) != std::string::npos) out.push_back(s);
  return out;
}

TEST(UnfoldCalls, EachStepIsAStepOfThePlan) {
  const Plan plan = two_layers();
  const std::string text = to_string(plan);
  ASSERT_EQ(steps_named(plan, "matmul, copy of the input [384 bytes]").size(), 1u) << text;
  EXPECT_EQ(steps_named(plan, "matmul, copy of the input [").size(), 2u) << text;
  EXPECT_EQ(steps_named(plan, "matmul, epilogue [relu]").size(), 2u) << text;
  EXPECT_EQ(steps_named(plan, "matmul [").size(), 2u) << text;
  EXPECT_EQ(complaint(plan), "");
}

TEST(UnfoldCalls, TemporariesAreInTheMemoryPlanAsLongAsTheyAreNeeded) {
  const Plan plan = two_layers();
  const Step &copy = plan.steps[steps_named(plan, "matmul, copy")[0]], &product = plan.steps[steps_named(plan, "matmul [")[0]];
  ASSERT_EQ(copy.scratch.size(), 1u);
  EXPECT_NE(std::ranges::find(product.scratch, copy.scratch[0]), product.scratch.end());
  EXPECT_EQ(plan.scratch_bytes[static_cast<std::size_t>(copy.scratch[0])], 192u);
  EXPECT_TRUE(plan.steps[steps_named(plan, "matmul, epilogue")[0]].scratch.empty());
  EXPECT_NE(memory_table(plan).find("scratch of matmul, copy of the input"), std::string::npos) << memory_table(plan);
}

TEST(UnfoldCalls, TheCheckerFindsAStepThatComesTooEarly) {
  for (const char* late : {"matmul, copy", "matmul ["}) {
    Plan plan = two_layers();
    const std::size_t s = steps_named(plan, late)[0];
    std::swap(plan.steps[s], plan.steps[s + 1]);
    EXPECT_NE(complaint(plan).find("it there, not"), std::string::npos) << late << ": " << complaint(plan);
  }
}

TEST(UnfoldCalls, TheCheckerFindsATemporaryThatIsWrittenOver) {
  Plan plan = two_layers();
  const Step& product = plan.steps[steps_named(plan, "matmul [")[0]];
  const auto at = static_cast<std::size_t>(product.scratch[0]);
  plan.scratch_offsets[at] = plan.storage[static_cast<std::size_t>(product.writes[0])].offset;
  EXPECT_NE(complaint(plan), "");
}

TEST(UnfoldCalls, TheCheckerFindsAStepThatTouchesWhatIsNotItsCalls) {
  Plan plan = two_layers();
  Step& copy = plan.steps[steps_named(plan, "matmul, copy")[0]];
  const int other = plan.steps[steps_named(plan, "matmul [")[1]].reads[0];
  copy.called()->buffers[0].index = copy.reads[0] = other;
  EXPECT_NE(complaint(plan).find("its inputs and results"), std::string::npos) << complaint(plan);
}

HostArray numbers(const Shape& shape) {
  const DeviceScope scope(cpu());
  return sin(reshape(cast(arange(numel(shape)), f32), shape) * 0.37).to_array();
}

TEST(UnfoldCalls, ResultsAreThoseOfTheWholeCall) {
  const auto net = [](Tensor x, Tensor a, Tensor b) { return relu(matmul(relu(matmul(x, a)), b)) + 1.f; };
  const HostArray x = numbers({6, 8}), a = numbers({8, 16}), b = numbers({16, 4});
  const auto on_cpu = [&] {
    const DeviceScope scope(cpu());
    return net(from_array(x), from_array(a), from_array(b)).to_array();
  };
  const HostArray expected = on_cpu();
  const DeviceScope scope(SteppedDevice::get());
  for (const bool poisons : {false, true}) {
    const Checking memory(Check::Memory, poisons);
    auto f = jit(net);
    HostArray got;
    for (int call = 0; call < 3; ++call) got = f(from_array(x), from_array(a), from_array(b)).to_array();  // walked, recorded, replayed
    EXPECT_NE(f.print_plan().find("matmul, copy of the input ["), std::string::npos) << f.print_plan();
    ASSERT_EQ(got.bytes(), expected.bytes());
    EXPECT_EQ(std::memcmp(got.buffer->data(), expected.buffer->data(), got.bytes()), 0) << poisons;
  }
}

TEST(UnfoldCalls, HalvesOfTheCpuAreWidenedAndRoundedInStepsOfThePlan) {
  const DeviceScope scope(cpu());
  const Checking plans(Check::Plan, true);
  auto f = jit([](Tensor x, Tensor w) {
    const Tensor y = max_pool2d(conv2d(x, w, {.padding = PaddingRule::Same}), 2);
    return grad(sum(cast(y * y, f32)), {w});
  });
  f(ones({2, 4, 8, 8}, bf16), ones({6, 4, 3, 3}, bf16));
  const std::string plan = f.print_plan(), memory = f.print_memory();
  for (const char* step : {"widening of the input [512 from bf16]", "widening of the weight [216 from bf16]",
                           "rounding of the output [768 to bf16]", "rounding of the weight [216 to bf16]"})
    EXPECT_NE(plan.find(step), std::string::npos) << step << plan;
  EXPECT_NE(memory.find("widening of the input"), std::string::npos) << memory;
}

TEST(UnfoldCalls, AnEpilogueThatNoLibraryHasIsAStepOfTheCpusConvolution) {
  runtime::Convolution d;
  d.input = {f32, Layout::dense({2, 3, 5, 5})}, d.weight = {f32, Layout::dense({4, 3, 3, 3})},
  d.output = {f32, Layout::dense({2, 4, 5, 5})};
  d.stride = d.dilation = d.pad_low = d.pad_high = {1, 1};
  d.epilogue = runtime::expression_of({.channel = true, .tensor = true, .rest = runtime::relu(f32)});
  const auto call = cpu().make(d);
  ASSERT_NE(call->steps(), nullptr) << call->describe();
  const auto& steps = call->steps()->steps;
  ASSERT_EQ(steps.size(), 2u) << call->describe();
  using runtime::StepOperand;
  EXPECT_EQ(steps[0].operands, (std::vector{StepOperand::reads(0), StepOperand::reads(1), StepOperand::reads(2), StepOperand::writes(4)}));
  EXPECT_EQ(steps[1].name, "epilogue");
  EXPECT_EQ(steps[1].call->describe(), "add tensor, le 0, select 0");
  EXPECT_EQ(steps[1].operands, (std::vector{StepOperand::reads(3), StepOperand::updates(4)}));
}

TEST(UnfoldCalls, StepsOfAStepTakeItsPlace) {
  using runtime::Access;
  using runtime::StepOperand;
  const auto through = [](std::size_t bytes, const char* name, std::unique_ptr<runtime::Call> last) {
    runtime::CallSteps steps{.temporaries = {bytes}, .steps = {}};
    steps.steps.push_back({name, std::make_unique<test::CopyCall>(4), {StepOperand::reads(0), StepOperand::temporary(0, Access::Writes)}});
    steps.steps.push_back({"", std::move(last), {StepOperand::temporary(0, Access::Reads), StepOperand::writes(1)}});
    return runtime::call_of(std::move(steps), 2);
  };
  const auto call = through(16, "outer", through(8, "inner", std::make_unique<test::CopyCall>(4)));
  EXPECT_EQ(call->steps()->temporaries, (std::vector<std::size_t>{16, 8}));
  std::vector<std::string> names;
  for (const auto& step : call->steps()->steps) names.push_back(step.name);
  EXPECT_EQ(names, (std::vector<std::string>{"outer", "inner", ""}));
  EXPECT_EQ(call->steps()->steps[1].operands,
            (std::vector{StepOperand::temporary(0, Access::Reads), StepOperand::temporary(1, Access::Writes)}));
  const float from = 3;
  float to = 0;
  std::vector<std::byte> scratch(call->scratch_bytes());
  call->run(std::vector<void*>{const_cast<float*>(&from), &to}, {.scratch = scratch.data()});
  EXPECT_EQ(to, 3);
}

TEST(UnfoldCalls, ACallRunsItsStepsWhereNoPlanDoes) {
  runtime::Matmul d = runtime::Matmul::of(f32, Layout::dense({2, 2}), Layout::dense({2, 2}), Layout::dense({2, 2}));
  d.epilogue = runtime::relu(f32);
  SteppedDevice& device = SteppedDevice::get();
  const auto call = device.make(d);
  EXPECT_EQ(call->steps()->steps.size(), 3u);
  const std::vector<float> a{1, 2, 3, 4}, b{1, -1, 0, 1};
  std::vector<float> c(4);
  std::vector<std::byte> scratch(call->scratch_bytes());
  call->run(std::vector<void*>{const_cast<float*>(a.data()), const_cast<float*>(b.data()), c.data()}, {.scratch = scratch.data()});
  device.QueuedDevice::synchronize();
  EXPECT_EQ(c, (std::vector<float>{1, 1, 3, 1}));
}

}  // namespace
}  // namespace tegula::compile
