// A plan file: a function's plan for a device, run again without tracing and planning.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tegula/core/warning.h"
#include "tegula/formats/findings_json.h"
#include "tegula/runtime/kernel_cache.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/queued_device.h"
#include "tests/support/stepped_device.h"

namespace tegula {
namespace {

constexpr const char* kPath = "plan_file_test.plan";

Tensor numbers(const Shape& shape, double seed = 1) { return sin(reshape(cast(arange(numel(shape)), f32), shape) * 0.37 + seed); }

void expect_same_bits(const Tensor& a, const Tensor& b) {
  const HostArray x = a.to_array(), y = b.to_array();
  ASSERT_EQ(x.shape, y.shape);
  ASSERT_EQ(x.dtype, y.dtype);
  EXPECT_EQ(std::memcmp(x.buffer->data(), y.buffer->data(), x.bytes()), 0);
}

struct Mlp {
  nn::Linear hidden{6, 8}, head{8, 3};
  Tensor operator()(const Tensor& x) { return softmax(head(relu(hidden(x))), 1); }
};

TEST(PlanFile, RunsWithoutTracingOrPlanning) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  eval(x);
  save_plan(kPath, net, x);
  const PlanFunction f = load_plan(kPath);
  const auto before = runtime::kernel_cache_counters();
  const Tensor y = f(x);
  EXPECT_EQ(runtime::kernel_cache_counters().misses, before.misses) << "nothing was compiled at a call";
  expect_same_bits(y, jit(net)(x));
  expect_same_bits(f(x), y);
  EXPECT_TRUE(f.from_file());
  EXPECT_EQ(f.traces(), 0);
  EXPECT_EQ(f.inputs().size(), 1u);
  EXPECT_EQ(f.state().size(), 4u);
  EXPECT_EQ(f.state()[0].name, "hidden.weight");
  EXPECT_TRUE(is_plan_file(kPath));
}

TEST(PlanFile, HasTheStepsOfTheJittedFunction) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  auto compiled = jit(net);
  compiled(x);
  save_plan(kPath, net, x);
  const PlanFunction f = load_plan(kPath);
  EXPECT_EQ(f.print_kernels(), compiled.print_kernels());
  EXPECT_EQ(f.print_memory(), compiled.print_memory());
  const char* const product = default_device().number() == 0 ? "call matmul [" : "tile multiply_sum";  // a GPU fuses so small ones
  EXPECT_NE(f.print_plan().find(product), std::string::npos) << f.print_plan();
}

TEST(PlanFile, IsAGraphFileToo) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_plan(kPath, {.metadata = {{"classes", "3"}}}, net, x);
  const GraphFunction g = load_graph(kPath);
  expect_same_bits(g(x), load_plan(kPath)(x));
  EXPECT_EQ(g.metadata(), (io::Metadata{{"classes", "3"}}));
  EXPECT_EQ(load_plan(kPath).metadata(), g.metadata());
  const PlanFunction f = load_plan(kPath);
  auto gradient = jit([&](const Tensor& in) { return grad(sum(square(f(in))), f.state())[0]; });
  expect_same_bits(gradient(x), grad(sum(square(g(x))), g.state())[0]);
}

TEST(PlanFile, ATrainingStepGoesOnWhereItWasSaved) {
  const auto steps = [](int from_file) {
    manual_seed(3);
    Mlp net;
    optim::Adam adam(parameters(net), {.lr = 0.05});
    const Tensor x = numbers({8, 6}), t = remainder(arange(8), 3);
    const auto step = [&](const Tensor& in, const Tensor& target) {
      const Tensor loss = cross_entropy(net.head(relu(net.hidden(in))), target);
      adam.step(grad(loss, parameters(net)));
      return loss;
    };
    auto compiled = jit(step);
    for (int i = 0; i < 3; ++i) compiled(x, t);
    std::vector<Tensor> losses;
    if (from_file == 0) {
      for (int i = 0; i < 4; ++i) losses.push_back(compiled(x, t));
    } else {
      save_plan(kPath, step, x, t);
      const PlanFunction f = load_plan(kPath);
      for (int i = 0; i < 4; ++i) losses.push_back(f(x, t));
      EXPECT_EQ(f.traces(), 0);
    }
    return losses;
  };
  const std::vector<Tensor> expected = steps(0), got = steps(1);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_same_bits(got[i], expected[i]);
}

TEST(PlanFile, ALoopIsAStepWithABody) {
  nn::LSTM lstm(3, 8);
  const auto f = [&](const Tensor& x) { return lstm(x).output; };
  const Tensor x = numbers({2, 20, 3});
  save_plan(kPath, f, x);
  const PlanFunction g = load_plan(kPath);
  expect_same_bits(g(x), jit(f)(x));
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU compiles so short loops written out";
  EXPECT_NE(g.print_plan().find("loop scan [2 x "), std::string::npos) << g.print_plan();
  EXPECT_NE(g.print_plan().find("   | 0. "), std::string::npos) << "the body";
}

// Weights in another layout, factors of a norm.
TEST(PlanFile, WhatIsKeptIsInTheFileAndComputedAgainWhenAVariableChanges) {
  struct Net {
    nn::Conv2d conv{8, 16, 3};
    nn::BatchNorm2d norm{16};
    Tensor operator()(const Tensor& x) { return relu(norm(conv(x))); }
  } net;
  eval(net);
  const Tensor x = numbers({2, 8, 9, 9});
  auto compiled = jit([&](const Tensor& in) { return net(in); });  // which does not copy it
  compiled(x);
  ASSERT_GT(compiled.kept_bytes(), 0u);
  save_plan(kPath, net, x);
  const PlanFunction f = load_plan(kPath);
  EXPECT_NE(f.print_plan().find("kept"), std::string::npos) << f.print_plan();
  {
    SCOPED_TRACE("as it was saved");
    expect_same_bits(f(x), compiled(x));
  }
  SCOPED_TRACE("with other weights");
  for (const Parameter& one : f.state())
    if (one.name == "conv.weight") one.assign(one.read() * 2.0);
  for (const Parameter& one : nn::state(net))
    if (one.name == "conv.weight") one.assign(one.read() * 2.0);
  expect_same_bits(f(x), compiled(x));
  EXPECT_EQ(f.traces(), 0);
}

TEST(PlanFile, PackedWeightsLimitsAndSumsComeBack) {
  struct Net {
    nn::Conv2d conv{16, 16, 3, {.padding = 1}};
    nn::Linear head{16 * 36, 24};
    Tensor operator()(const Tensor& x) { return head(flatten(relu(x + relu6(conv(x))), 1)); }
  } net;
  eval(net);
  const Tensor x = numbers({1, 16, 6, 6});
  auto compiled = jit([&](const Tensor& in) { return net(in); });
  const Tensor y = compiled(x);
  const bool packs = default_device().number() == 0;
  EXPECT_EQ(compiled.print_plan().find("call pack") != std::string::npos, packs) << compiled.print_plan();
  save_plan(kPath, net, x);
  const PlanFunction f = load_plan(kPath);
  EXPECT_EQ(f.print_kernels(), compiled.print_kernels());
  expect_same_bits(f(x), y);
  for (const Parameter& one : f.state()) one.assign(one.read() * 2.0);
  for (const Parameter& one : nn::state(net)) one.assign(one.read() * 2.0);
  expect_same_bits(f(x), compiled(x));
}

TEST(PlanFile, SumsThatComputeTheirTermsComeBack) {
  const Segments s = segments(tensor<std::int64_t>({2, 0, 2, 3}), 4);
  eval(s.starts, s.order, s.index);
  const auto f = [&](const Tensor& x, const Tensor& index) { return segment_sum(relu(take(x, index, 0) * 0.5) - 1.0, s); };
  const Tensor x = numbers({5, 3}), index = tensor<std::int64_t>({4, 0, -1, 2});
  save_plan(kPath, f, x, index);
  const PlanFunction g = load_plan(kPath);
  expect_same_bits(g(x, index), jit(f)(x, index));
  EXPECT_TRUE(g.from_file());
  EXPECT_HAS_MESSAGE(g(x, tensor<std::int64_t>({4, 0, 5, 2})).to_host<float>(), "got index 5 for axis 0 of size 5");
}

TEST(PlanFile, AFailedCheckNamesTheLineOfTheSavedProgram) {
  const Tensor table = numbers({5, 2});
  eval(table);
  const std::string here = "plan_file_test.cpp:" + std::to_string(__LINE__ + 1);
  const auto f = [&](const Tensor& index) { return take(table, index, 0); };
  save_plan(kPath, f, tensor<std::int64_t>({1, 2}));
  const PlanFunction g = load_plan(kPath);
  expect_same_bits(g(tensor<std::int64_t>({4, 0})), f(tensor<std::int64_t>({4, 0})));
  std::string expected;
  try {
    jit(f)(tensor<std::int64_t>({1, 7})).to_array();
  } catch (const Error& error) { expected = error.what(); }
  try {
    g(tensor<std::int64_t>({1, 7})).to_array();  // a device that queues says it here
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), expected);
    EXPECT_NE(expected.find(here), std::string::npos) << expected;
  }
}

TEST(PlanFile, ADeviceThatQueuesHasPlanFilesToo) {
  test::QueuedDevice& device = test::QueuedDevice::create();
  const DeviceScope scope(device);
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_plan(kPath, net, x);
  const PlanFunction f = load_plan(kPath);
  EXPECT_TRUE(f.from_file());
  const Tensor expected = jit(net)(x);
  for (int call = 0; call < 4; ++call) expect_same_bits(f(x), expected);
  EXPECT_EQ(f.traces(), 0);
}

TEST(PlanFile, StepsOfACallComeBackOneByOne) {
  const DeviceScope scope(test::SteppedDevice::get());
  const auto net = [](Tensor a, Tensor b) { return relu(matmul(a, b)) + 1.f; };
  const Tensor a = numbers({4, 6}), b = numbers({6, 5}, 2);
  auto compiled = jit(net);
  const Tensor expected = compiled(a, b);
  save_plan(kPath, net, a, b);
  const PlanFunction f = load_plan(kPath);
  EXPECT_TRUE(f.from_file());
  for (int call = 0; call < 3; ++call) expect_same_bits(f(a, b), expected);
  EXPECT_EQ(f.print_plan(), compiled.print_plan());
  EXPECT_NE(f.print_plan().find("matmul, copy of the input ["), std::string::npos) << f.print_plan();

  // If the device has another number of steps by now, the graph is planned again.
  test::SteppedDevice::get().has_epilogues = false;
  const PlanFunction anew = load_plan(kPath);
  test::SteppedDevice::get().has_epilogues = true;
  EXPECT_FALSE(anew.from_file());
  expect_same_bits(anew(a, b), expected);
}

// Large tensors are pages of the file: writes to them stay in the process, and a new file under the name is another one.
TEST(PlanFile, WritesStayInTheProcessAndANewFileIsAnother) {
  nn::Linear wide(64, 64);
  const Tensor x = numbers({2, 64});
  const auto grow = [&](const Tensor& in) {
    const Tensor y = wide(in);
    wide.weight.assign(wide.weight * 2.0);
    return y;
  };
  save_plan(kPath, grow, x);
  const Tensor first = load_plan(kPath)(x);
  const PlanFunction f = load_plan(kPath);
  expect_same_bits(f(x), first);
  const Tensor second = f(x);
  EXPECT_GT(max(abs(second - first)).item<float>(), 0.1f);
  expect_same_bits(load_plan(kPath)(x), first);
  const PlanFunction kept = load_plan(kPath);
  save_plan(kPath, [](const Tensor& in) { return in * 3.0; }, x);
  expect_same_bits(kept(x), first);
  expect_same_bits(load_plan(kPath)(x), x * 3.0);
}

/// The warnings of `work`.
std::map<std::string, std::string> warnings_of(const std::function<void()>& work) {
  static std::map<std::string, std::string> heard;
  heard.clear();
  set_warning_handler([](const std::string& name, const std::string& text) { heard[name] = text; });
  work();
  set_warning_handler({});
  return heard;
}

std::string contents() {
  std::ifstream file(kPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& text) { std::ofstream(kPath, std::ios::binary) << text; }

TEST(PlanFile, APlanForAnotherMachineIsMadeAnewWithOneWarning) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_plan(kPath, net, x);
  std::string other = contents();
  const std::string_view here = default_device().number() == 0 ? "oneDNN" : "NVIDIA";
  const auto at = other.find(here);
  ASSERT_NE(at, std::string::npos);
  other.replace(at, here.size(), "twoDNN");  // has the same length
  write(other);
  const auto heard = warnings_of([&] {
    const PlanFunction f = load_plan(kPath);
    EXPECT_FALSE(f.from_file());
    expect_same_bits(f(x), jit(net)(x));
    f(x);
    EXPECT_EQ(f.traces(), 2) << "as any jit-ed function: the second call compares";
  });
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_NE(heard.begin()->second.find("twoDNN"), std::string::npos) << heard.begin()->second;
}

TEST(PlanFile, APlanForLibrariesThatTheDeviceHasNotIsMadeAnewWithOneWarning) {
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU has these libraries (cuda.plan_files)";
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_plan(kPath, net, x);
  io::Safetensors file = io::read_safetensors(kPath);
  std::string& head = file.metadata.at("tegula.plan");
  const std::string_view none = "\"libraries\":{}";
  const auto at = head.find(none);
  ASSERT_NE(at, std::string::npos) << head;
  head.replace(at, none.size(), "\"libraries\":{\"cuBLASLt\":\"130100\"}");
  io::write_safetensors(kPath, file.tensors, file.metadata);
  const auto heard = warnings_of([&] { expect_same_bits(load_plan(kPath)(x), jit(net)(x)); });
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_NE(heard.begin()->second.find("cuBLASLt 130100 (here none)"), std::string::npos) << heard.begin()->second;
  head.replace(head.find("\"libraries\":{"), 14, "\"libraries\":3,\"x\":{");
  io::write_safetensors(kPath, file.tensors, file.metadata);
  EXPECT_THROW(load_plan(kPath), Error);
}

TEST(PlanFile, OtherSizesAreRefused) {
  save_plan(kPath, [](const Tensor& x) { return x + 1; }, numbers({3}));
  const PlanFunction f = load_plan(kPath);
  EXPECT_THROW(f(numbers({4})), Error);
  EXPECT_THROW(f(cast(numbers({3}), f64)), Error);
  EXPECT_THROW(f(std::vector<Tensor>()), Error);
}

TEST(PlanFile, WhatIsNoPlanIsRefused) {
  Mlp net;
  save_graph(kPath, net, numbers({4, 6}));
  EXPECT_FALSE(is_plan_file(kPath));
  try {
    load_plan(kPath);
    FAIL();
  } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("load_graph"), std::string::npos) << error.what(); }
  save(net, kPath);
  EXPECT_THROW(load_plan(kPath), Error);
}

TEST(PlanFile, ATruncatedFileIsRefused) {
  Mlp net;
  save_plan(kPath, net, numbers({4, 6}));
  const std::string whole = contents();
  for (std::size_t length = 0; length < whole.size(); length += 331) {
    write(whole.substr(0, length));
    EXPECT_THROW(load_plan(kPath), Error) << length;
  }
}

/// Draws of a generator of its own.
class Draws {
 public:
  std::size_t operator()(std::size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state_ >> 33) % n;
  }

 private:
  std::uint64_t state_ = 12345;
};

// A byte anywhere in the plan: its digest tells.
TEST(PlanFile, ADamagedPlanIsRefused) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_plan(kPath, net, x);
  const std::string whole = contents();
  const std::size_t begin = whole.find("{\"findings\""), end = begin + io::read_safetensors(kPath, "tegula.plan.json").bytes();
  ASSERT_NE(begin, std::string::npos);
  ASSERT_GT(end, begin + 1000);
  Draws draw;
  for (int i = 0; i < 100; ++i) {
    std::string other = whole;
    char& letter = other[begin + draw(end - begin)];
    letter = static_cast<char>(letter ^ (1 << draw(7)));
    write(other);
    EXPECT_THROW(load_plan(kPath), Error) << i;
  }
}

TEST(PlanFile, AHostilePlanIsRefusedOrLoads) {
  nn::LSTM lstm(6, 2);
  nn::Conv2d conv(1, 4, 1);
  const auto f = [&](const Tensor& x) {
    return concat({flatten(relu(conv(unsqueeze(lstm(x).output, 1)))), take(flatten(x), arange(3), 0)}, 0);
  };
  save_plan(kPath, f, numbers({2, 4, 6}));
  const io::Safetensors file = io::read_safetensors(kPath);
  Draws draw;
  int refused = 0, loaded = 0;
  set_warning_handler([](const std::string&, const std::string&) {});
  for (int i = 0; i < 300; ++i) {
    io::Safetensors other = file;
    for (auto& [name, array] : other.tensors) {
      if (name != "tegula.plan.json") continue;
      HostArray copy = HostArray::empty(array.dtype, array.shape);
      std::memcpy(copy.buffer->data(), array.buffer->data(), array.bytes());
      array = std::move(copy);
      auto* const text = static_cast<char*>(array.buffer->data());
      constexpr std::string_view kLetters = "0123456789-,[]{}\"a";
      const std::size_t changes = 1 + draw(3);
      for (std::size_t change = 0; change < changes; ++change) {
        char& letter = text[draw(array.bytes())];
        // Numbers above all: places, sizes, numbers of values.
        letter = letter >= '0' && letter <= '9' ? static_cast<char>('0' + draw(10))
                 : draw(4) == 0                 ? kLetters[draw(kLetters.size())]
                                                : letter;
      }
      std::string& head = other.metadata.at("tegula.plan");
      const auto at = head.find("\"digest\":") + 9;
      head.replace(at, head.find(',', at) - at, std::to_string(formats::digest({text, array.bytes()})));
    }
    io::write_safetensors(kPath, other.tensors, other.metadata);
    try {
      load_plan(kPath);
      ++loaded;
    } catch (const Error&) { ++refused; }
  }
  set_warning_handler({});
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 0);
}

TEST(PlanFile, WhatNoFileHoldsIsRefusedWhenItIsSaved) {
  const auto prints = [](const Tensor& x) {
    debug_print(x, "x");
    return x + 1;
  };
  EXPECT_THROW(save_plan(kPath, prints, numbers({3})), Error);
}

}  // namespace
}  // namespace tegula
