// Convolution as tile programs: against the library's in f32, on the CPU and as generated for GPUs; and what is generated.

#include "tegula/ops/products/convolution_tiles.h"
#include "tegula/compile/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/simt/card.h"
#include "tegula/simt/codegen.h"
#include "tegula/tegula.h"
#include "tegula/tile/builder.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula::convolution_tiles {
namespace {

using ops::ConvolutionTile;
using runtime::ConvolutionPass;
using runtime::Expression;
using test::drawn;

struct Problem {
  Shape x, weight;
  ConvolutionOptions options = {};
  ConvolutionTile tile = {.images = 1, .rows = 8, .columns = 8, .channels = 64, .terms = 64};
};
std::string text(const Problem& p) {
  return to_string(p.x) + to_string(p.weight) + " in " + std::to_string(p.tile.images) + "x" + std::to_string(p.tile.rows) + "x" +
         std::to_string(p.tile.columns) + " ";
}

// Sizes that no block divides, strides, dilations, padding that differs, several images in a block, windows of one pixel, which are lines.
std::vector<Problem> problems() {
  return {{{2, 16, 9, 10}, {24, 16, 3, 3}, {.padding = 1}},
          {{2, 72, 13, 11}, {40, 72, 3, 3}, {.stride = 2, .padding = 1}},
          {{3, 24, 7, 9}, {72, 24, 1, 1}, {}, {.images = 1, .rows = 1, .columns = 64, .channels = 64, .terms = 64}},
          {{2, 16, 12, 9}, {16, 16, 1, 1}, {.stride = 2}, {.images = 2, .rows = 4, .columns = 8, .channels = 64, .terms = 64}},
          {{5, 8, 9, 8},
           {80, 8, 2, 3},
           {.padding = Padding::sides({1, 0}, {0, 2}), .dilation = {1, 2}},
           {.images = 4, .rows = 4, .columns = 4, .channels = 64, .terms = 64}},
          {{70, 16, 3, 4},
           {24, 16, 3, 3},
           {.stride = {1, 2}, .padding = 1},
           {.images = 64, .rows = 1, .columns = 1, .channels = 64, .terms = 64}},
          {{1, 8, 20, 18}, {8, 8, 5, 5}, {.stride = {3, 2}, .padding = 2}}};
}

struct Operands {
  Tensor x, weight, gradient;  // of the result
};
Operands operands_of(const Problem& p, DType dtype) {
  const Tensor x = drawn(p.x, dtype), weight = drawn(p.weight, dtype);
  return {x, weight, drawn(conv2d(x, weight, p.options).shape(), dtype)};
}
Window window_of(const Problem& p) {
  return make_window({p.x[2], p.x[3]}, {p.weight[2], p.weight[3]}, p.options.stride, p.options.padding, p.options.dilation, "test", {});
}

void expect_near(const Tensor& found, const Tensor& wanted, DType dtype, const std::string& what) {
  ASSERT_EQ(found.shape(), wanted.shape()) << what;
  const auto a = found.to_host<double>(), b = wanted.to_host<double>();
  double largest = 1;
  for (const double one : b) largest = std::max(largest, std::abs(one));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], (dtype == bf16 ? 8e-3 : 1e-3) * largest) << what << ", element " << i;
}
/// All three passes beside the library's over the same numbers in f32.
void expect_like_the_library(const Problem& p, DType dtype, const std::string& what) {
  const Operands of = operands_of(p, dtype);
  const Tensor x = cast(of.x, f32), weight = cast(of.weight, f32), y = conv2d(x, weight, p.options);
  const std::vector<Tensor> gradients = vjp({y}, {cast(of.gradient, f32)}, {x, weight});
  const Window window = window_of(p);
  expect_near(ops::convolution_tiles(ConvolutionPass::Forward, window, of.x, of.weight, y.shape(), p.tile), y, dtype, text(p) + what);
  expect_near(ops::convolution_tiles(ConvolutionPass::BackwardData, window, of.gradient, of.weight, p.x, p.tile), gradients[0], dtype,
              text(p) + "data " + what);
  for (const std::int64_t splits : {1, 2}) {
    ConvolutionTile tile = p.tile;
    tile.splits = splits;
    expect_near(ops::convolution_tiles(ConvolutionPass::BackwardWeight, window, of.x, of.gradient, p.weight, tile), gradients[1], dtype,
                text(p) + "weight " + what);
  }
}

TEST(ConvolutionTiles, AreTheLibrarys) {
  manual_seed(3);
  for (const Problem& p : problems())
    for (const DType dtype : {bf16, f16}) expect_like_the_library(p, dtype, std::string(name(dtype)));
}

/// A device whose programs are cut and generated for a GPU of that architecture, their statements executed.
runtime::Device& device_of(int architecture, const std::function<void(const tile::Program&)>& see = {}) {
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [=](const tile::Program& program) {
    if (see) see(program);
    return gpu::emulated_kernel(program, {.architecture = architecture});
  };
  device.preference = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
  return device;
}
TEST(ConvolutionTiles, AreTheSameAsGeneratedForGpus) {
  manual_seed(4);
  for (const int architecture : {90, 80}) {
    const test::OnDevice here(device_of(architecture));
    for (const Problem& p : problems()) expect_like_the_library(p, bf16, std::to_string(architecture));
  }
}
TEST(ConvolutionTiles, AreTheSameWhereAWarpCopiesForTheOthers) {
  manual_seed(5);
  const test::OnDevice here(device_of(90));
  for (Problem p : problems()) {
    p.tile.specialize = true;
    expect_like_the_library(p, f16, "specialized");
  }
}

/// relu(result + bias by channel + a tensor of the result's shape)
Expression epilogue() {
  Expression all;
  all.read(Expression::Source::Result);
  const int channel = all.read(Expression::Source::Channel), tensor = all.read(Expression::Source::Tensor);
  const int operands[] = {0, channel, tensor};
  const bool appended = runtime::append(all, operands, bf16, [](tile::Builder& b, std::span<const tile::Value> x) {
    return tile::binary(tile::Word::Max, x[0] + x[1] + x[2], b.constant(0.0, f32));
  });
  EXPECT_TRUE(appended);
  return all;
}
TEST(ConvolutionTiles, MakeTheResultOfTheSums) {
  manual_seed(6);
  for (const int architecture : {0, 90, 80}) {
    std::optional<test::OnDevice> there;
    if (architecture > 0) there.emplace(device_of(architecture));
    for (const Problem& p : {problems()[0], problems()[2]}) {
      const Operands of = operands_of(p, bf16);
      const Tensor bias = drawn({p.weight[0]}, bf16), y = conv2d(cast(of.x, f32), cast(of.weight, f32), p.options);
      const Tensor wanted = relu(y + reshape(cast(bias, f32), {1, p.weight[0], 1, 1}) + cast(of.gradient, f32));
      const Tensor read[] = {bias, of.gradient};
      expect_near(ops::convolution_tiles(ConvolutionPass::Forward, window_of(p), of.x, of.weight, y.shape(), p.tile, epilogue(), read),
                  wanted, bf16, text(p));
    }
  }
}

/// A device whose convolutions of halves want all operands channels-last, as a GPU's do.
class ChannelsLast final : public test::QueuedDevice {
 public:
  static ChannelsLast& create() { return *new ChannelsLast; }  // never destroyed, as QueuedDevice::create says
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    const auto* const asked = std::get_if<runtime::Convolution>(&d);
    if (!asked || !is_half(asked->dtype())) return QueuedDevice::candidates(d);
    runtime::Convolution best = *asked;
    for (runtime::Operand* const one : {&best.input, &best.weight, &best.output})
      one->layout = Layout::channels_last(Shape(one->layout.shape));
    return {{best}};
  }

 private:
  ChannelsLast() { facts_.traits.layouts.weights_channels_last = true; }
};
TEST(ConvolutionTiles, StandForCallsWithWhatFollowsThem) {
  if (compile::forced_ladder().on) GTEST_SKIP() << "on the ladder all are calls, which this device names and cannot run";
  manual_seed(7);
  ChannelsLast& device = ChannelsLast::create();
  std::set<std::string> names;
  device.make_kernel = [&](const tile::Program& program) {
    names.insert(program.name);
    return runtime::cpu().compile(program);
  };
  const test::OnDevice here(device);
  const Problem p{{2, 16, 9, 10}, {24, 16, 3, 3}, {.stride = 2, .padding = 1}};
  const Operands of = operands_of(p, bf16);
  const auto both = [&](const Tensor& x, const Tensor& weight, const Tensor& gradient) {
    const Tensor y = relu(conv2d(x, weight, p.options));
    const std::vector<Tensor> gradients = vjp({y}, {gradient}, {x, weight});
    return std::vector<Tensor>{y, gradients[0], gradients[1]};
  };
  auto compiled = jit(both);
  setenv("TEGULA_TUNE", "tiles", 1);
  const auto found = compiled(of.x, of.weight, of.gradient);
  unsetenv("TEGULA_TUNE");
  const auto wanted = both(cast(of.x, f32), cast(of.weight, f32), cast(of.gradient, f32));
  for (std::size_t k = 0; k < 3; ++k) expect_near(found[k], wanted[k], bf16, std::to_string(k));
  for (const char* name : {"convolution_tiles", "convolution_tiles_backward_data", "convolution_tiles_backward_weight"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ConvolutionTiles, ChooseBlocksThatCoverImages) {
  const auto chosen = [](ConvolutionPass pass, const Shape& x, const Shape& weight, std::int64_t stride = 1) {
    const Problem p{x, weight, {.stride = stride, .padding = weight[2] / 2}};
    const Window window = window_of(p);
    return ops::choose_convolution_tile(pass, window, x, weight, {x[0], weight[0], window.output(0, x[2]), window.output(1, x[3])}, 528);
  };
  for (const auto& [size, channels] : {std::pair{56, 64}, {28, 128}, {14, 256}}) {
    const ConvolutionTile tile = chosen(ConvolutionPass::Forward, {64, channels, size, size}, {channels, channels, 3, 3});
    EXPECT_EQ(64 % tile.images + size % tile.rows + size % tile.columns, 0) << size;
    EXPECT_EQ(tile.images * tile.rows * tile.columns % 64, 0);
  }
  const ConvolutionTile line = chosen(ConvolutionPass::Forward, {64, 256, 7, 7}, {512, 256, 1, 1});
  EXPECT_EQ(line.images * line.rows, 1);
  const ConvolutionTile gradient = chosen(ConvolutionPass::BackwardWeight, {64, 64, 56, 56}, {64, 64, 3, 3});
  EXPECT_EQ(gradient.images * gradient.rows * gradient.columns, 64);
  EXPECT_GT(gradient.splits, 1);
}

/// The programs of the three passes, for channels-last tensors.
std::vector<tile::Program> programs_of(const Problem& p) {
  std::vector<tile::Program> programs;
  const test::OnDevice here(device_of(90, [&](const tile::Program& program) {
    if (program.name.starts_with("convolution_tiles") && !program.name.ends_with("_sum")) programs.push_back(program);
  }));
  const Operands of = operands_of(p, bf16);
  const Window window = window_of(p);
  eval(ops::convolution_tiles(ConvolutionPass::Forward, window, of.x, of.weight, of.gradient.shape(), p.tile));
  eval(ops::convolution_tiles(ConvolutionPass::BackwardData, window, of.gradient, of.weight, p.x, p.tile));
  eval(ops::convolution_tiles(ConvolutionPass::BackwardWeight, window, of.x, of.gradient, p.weight, p.tile));
  return programs;
}
gpu::Specialisation facts_of(const tile::Program& program) {
  gpu::Specialisation facts{.facts = {}, .one_axis = true, .maps = true};
  for (const tile::Parameter& parameter : program.parameters) facts.facts.push_back(parameter.pointer ? 4 : gpu::kShort);
  return facts;
}
TEST(ConvolutionTiles, ComeAsBoxes) {
  for (const Problem& p : problems()) {
    for (const tile::Program& program : programs_of(p)) {
      const gpu::Generated code = gpu::generate(program, facts_of(program), 90);
      const std::string decided = gpu::decisions_of(program, facts_of(program), 90);
      EXPECT_NE(code.source.find("copy_inside("), std::string::npos) << text(p) << decided;
      EXPECT_EQ(code.source.find("copy_ahead<"), std::string::npos) << text(p) << decided;
      EXPECT_EQ(decided.find("\nwritten "), std::string::npos) << decided;
      EXPECT_EQ(code.maps.size(), 2u) << decided;
    }
  }
}
TEST(ConvolutionTiles, StageNoMoreThanThereIs) {
  const Problem one{{2, 64, 16, 16}, {64, 64, 1, 1}, {}, {.images = 1, .rows = 1, .columns = 64, .channels = 64, .terms = 64}};
  const tile::Program program = programs_of(one).at(0);
  const std::string decided = gpu::decisions_of(program, facts_of(program), 90);
  EXPECT_NE(decided.find(" 2 stages of "), std::string::npos) << decided;
}
TEST(ConvolutionTiles, SpillNothing) {
  if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  const Problem p{{2, 128, 16, 16},
                  {128, 128, 3, 3},
                  {.stride = 2, .padding = 1},
                  {.images = 1, .rows = 8, .columns = 16, .channels = 128, .terms = 64}};
  for (const int architecture : {90, 80}) {
    for (const tile::Program& program : programs_of(p)) {
      if (architecture == 80 && program.name.ends_with("weight")) continue;
      const gpu::Generated code = gpu::generate(program, facts_of(program), architecture);
      testing::internal::CaptureStderr();
      const auto used = gpu::figures(gpu::with_prelude(code.source), architecture).at(code.name);
      const std::string what = program.name + ", sm_" + std::to_string(architecture) + ", registers " + std::to_string(used.registers);
      EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos) << what;
      EXPECT_EQ(used.spill_stores, 0u) << what;
      EXPECT_EQ(used.stack_bytes, 0u) << what;
    }
  }
}

TEST(ConvolutionTiles, SayWhatTheyDoNotDescribe) {
  const auto describes = [](const Problem& p, DType dtype = bf16, ConvolutionPass pass = ConvolutionPass::Forward,
                            std::int64_t groups = 1) {
    return ops::describes_convolution_tiles(pass, window_of(p), groups, dtype, p.x, p.weight);
  };
  const Problem p{{2, 16, 9, 10}, {24, 16, 3, 3}, {.padding = 1}};
  EXPECT_TRUE(describes(p));
  EXPECT_FALSE(describes(p, f32));
  EXPECT_FALSE(describes(p, bf16, ConvolutionPass::Forward, 2));
  EXPECT_FALSE(describes({{2, 3, 9, 10}, {24, 3, 3, 3}}));
  EXPECT_FALSE(describes({{0, 16, 9, 10}, {24, 16, 3, 3}}));
  const Problem apart{{2, 16, 9, 10}, {24, 16, 3, 3}, {.stride = 2, .padding = 1, .dilation = 2}};
  EXPECT_TRUE(describes(apart));
  EXPECT_FALSE(describes(apart, bf16, ConvolutionPass::BackwardData));
}

}  // namespace
}  // namespace tegula::convolution_tiles
