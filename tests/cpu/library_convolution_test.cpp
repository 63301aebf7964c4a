#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/runtime/threads.h"
#include "tests/support/library.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;
using test::describe;
using test::Memory;
using test::square;
using test::Tensor;
using Options = test::ConvolutionOptions;

/// Every way that could be chosen on some machine, with some batch.
std::vector<std::unique_ptr<runtime::Call>> candidates(const Convolution& d) {
  std::vector<std::unique_ptr<runtime::Call>> calls;
  calls.push_back(make_convolution(d));
  const Geometry g(d);
  if (d.dtype() != f32 || g.empty()) return calls;
  if (onednn_suits(d)) calls.push_back(make_onednn_convolution(d));
  calls.push_back(make_patch_convolution(d));
  const Order input = order_of(g.n, g.c, g.in, g.input), output = order_of(g.n, g.k, g.out, g.output);
  if (g.groups == 1 && input != Order::Other && output != Order::Other) calls.push_back(make_lanes_convolution(d));
  const bool rows = input == Order::ChannelsFirst && output == Order::ChannelsFirst;
  if (g.groups == g.c && g.groups == g.k && rows) calls.push_back(make_plane_convolution(d));
  if (pointwise_suits(d)) calls.push_back(make_pointwise_convolution(d));
  return calls;
}

void expect_all_passes(const Options& o, int threads) {
  for (const auto pass : test::kPasses) {
    const Convolution d = describe(o, pass);
    test::expect_convolution(runtime::cpu(), d, candidates(d), threads);
  }
}

class ConvolutionTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, ConvolutionTest, testing::Values(f64, f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(ConvolutionTest, RandomShapesAndLayoutsMatchTheNaiveLoops) {
  const int rounds = GetParam() == f32 ? 250 : 60;
  for (int round = 0; round < rounds && !HasFailure(); ++round) { expect_all_passes(test::random_convolution(GetParam()), 1 + round % 2); }
}

/// The convolution as the device would have it: its weight in blocks where it wants that, and by any way where not.
void expect_packed(const Convolution& plain, int threads, int& packed) {
  Convolution asked = plain;
  asked.weight.blocks.any = true;
  const auto ways = runtime::cpu().candidates(asked);
  ASSERT_FALSE(ways.empty());
  const auto& best = std::get<Convolution>(ways.front().description);
  EXPECT_FALSE(best.weight.blocks.any);
  if (best.weight.blocks) ++packed;
  std::vector<std::unique_ptr<runtime::Call>> calls;
  calls.push_back(runtime::cpu().make(best));
  test::expect_convolution(runtime::cpu(), best, calls, threads);
}

// Sums with another tensor, relu and limits are put into the call, in that order, and the weight comes in the call's own blocks.
TEST(Convolution, WhatIsPutIntoACallAndPackedWeightsMatchTheNaiveLoops) {
  int packed = 0;
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    Options o = test::random_convolution(f32);
    if (round % 3 == 0) {  // sizes that fill vectors
      o.c = o.c / o.groups * 8 * o.groups, o.k = o.k / o.groups * 16 * o.groups;
      for (int axis = 0; axis < o.in.rank(); ++axis) o.in[axis] = std::min<std::int64_t>(o.in[axis], 5);
      o.n = std::min<std::int64_t>(o.n, 3);
    }
    o.addend = round % 2 == 1;
    if (round % 4 >= 2) o.limits = {tile::Word::Max, tile::Word::Min};
    if (round % 8 == 5) o.limits = {tile::Word::Min};
    Convolution d = describe(o, ConvolutionPass::Forward);
    d.keeps_nan = false;
    EXPECT_TRUE(runtime::cpu().takes(d));
    expect_packed(d, 1 + round % 2, packed);
    expect_packed(describe(o, ConvolutionPass::BackwardData), 1 + round % 2, packed);
  }
  EXPECT_GT(packed, 100);
}

TEST(Convolution, WhereNanIsKeptNothingMoreIsPutIntoACall) {
  Options o = square(2, 16, 5, 32, 3, 1, 1, 1);
  o.addend = true;
  EXPECT_FALSE(runtime::cpu().takes(describe(o, ConvolutionPass::Forward)));
  o.addend = false, o.limits = {tile::Word::Max};
  EXPECT_FALSE(runtime::cpu().takes(describe(o, ConvolutionPass::Forward)));
}

TEST(Convolution, BlocksOfAnotherWeightAreRefused) {
  Convolution d = describe(square(2, 16, 5, 32, 3, 1, 1, 1), ConvolutionPass::Forward);
  d.weight.blocks = {.shape = {32, 16, 3, 2}, .strides = {1, 32, 1024, 512}};
  EXPECT_THROW(runtime::cpu().make(d), Error);
}

TEST_P(ConvolutionTest, EmptyAxesGiveZerosOrTheBias) {
  const Options usual{.n = 2,
                      .c = 3,
                      .k = 4,
                      .in = {5, 5},
                      .kernel = {3, 3},
                      .stride = {1, 1},
                      .dilation = {1, 1},
                      .low = {1, 1},
                      .high = {1, 1},
                      .dtype = GetParam(),
                      .bias = true};
  Options o = usual;
  o.n = 0;
  expect_all_passes(o, 2);
  o = usual, o.c = 0;
  expect_all_passes(o, 1);
  o = usual, o.k = 0;
  expect_all_passes(o, 1);
  o = usual, o.in = {0, 1}, o.low = {0, 0}, o.high = {0, 0};  // too small for the kernel: nothing comes out
  expect_all_passes(o, 2);
}

// The layers of the lecture's Keras network and relatives of ResNet's, small enough for the naive loops.
TEST(Convolution, LayersOfRealNetworksMatch) {
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    for (Options o : {square(17, 1, 14, 12, 3, 1, 1, 1), square(32, 12, 10, 24, 6, 2, 2, 2), square(20, 24, 8, 32, 6, 2, 2, 2),
                      square(1, 24, 14, 32, 6, 2, 2, 2), square(2, 3, 20, 64, 7, 2, 3, 3), square(2, 64, 7, 64, 3, 1, 1, 1),
                      square(16, 64, 8, 96, 1, 1, 0, 0), square(2, 32, 9, 48, 1, 2, 0, 0)}) {
      o.input = o.output = order;
      expect_all_passes(o, 1);
      expect_all_passes(o, 2);
    }
  }
}

// A group for each channel, row-major: windows that look beyond every border, or leave parts of the input out; lines shorter and longer than vectors.
TEST(Convolution, PlanesMatchTheNaiveLoops) {
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    Options o = test::random_convolution(f32);
    o.groups = o.k = o.c;
    o.input = o.output = Memory::ChannelsFirst;
    o.input_room = round % 3 * 5, o.output_room = round % 5 * 3;
    if (round % 2) o.in[o.in.rank() - 1] += 16;
    for (int axis = 0; axis < o.in.rank() && round % 4 == 3; ++axis) o.high[axis] = o.low[axis] = 0;
    expect_all_passes(o, 1 + round % 3);
  }
}

TEST(Convolution, PlanesKeepNanAndInfinityToTheWindowsThatSeeThem) {
  Options o = square(2, 3, 20, 3, 3, 1, 1, 1);
  o.groups = 3;
  const double inf = std::numeric_limits<double>::infinity();
  const Convolution d = describe(o, ConvolutionPass::BackwardWeight);
  Tensor x(f32, d.input.layout), dy(f32, d.output.layout), w(f32, d.weight.layout), bias(f32, Layout::dense({3}));
  x.randomize(), dy.randomize();
  x.set({0, 1, 5, 0}, inf);  // the first of a line: no window has it at its last column
  test::run_guarded(runtime::cpu(), *make_plane_convolution(d), {&x, &dy, &w, &bias}, 1);
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_FALSE(std::isfinite(w({1, 0, row, 0})) || std::isfinite(w({1, 0, row, 1})));
    EXPECT_TRUE(std::isfinite(w({1, 0, row, 2})) && std::isfinite(w({0, 0, row, 0})));
  }
}

// If planes are as fast as channels-last, an operand keeps its layout, and two operands get the same.
TEST(Convolution, PlanesAskForChannelsLastWhereAnOperandIs) {
  const auto asks = [](Memory input, Memory output, ConvolutionPass pass) {
    Options o = square(2, 3, 20, 3, 3, 1, 1, 1);
    o.groups = 3, o.input = input, o.output = output;
    return convolution_prefers_channels_last(describe(o, pass));
  };
  for (const auto pass : test::kPasses) {
    EXPECT_FALSE(asks(Memory::ChannelsFirst, Memory::ChannelsFirst, pass));
    EXPECT_TRUE(asks(Memory::ChannelsLast, Memory::ChannelsFirst, pass));
    EXPECT_TRUE(asks(Memory::ChannelsFirst, Memory::ChannelsLast, pass));
  }
}

// Parts of larger tensors, as joins have them: the memory between the images, or between the pixels, stays as it is, also behind an epilogue.
TEST_P(ConvolutionTest, SlicesAreReadAndWrittenWhereTheyLie) {
  const Options all[] = {square(3, 16, 5, 32, 3, 1, 1, 1), square(2, 5, 7, 7, 3, 2, 1, 1),   square(3, 24, 5, 12, 1, 1, 0, 0),
                         square(2, 16, 1, 16, 1, 1, 0, 0), square(1, 16, 4, 48, 3, 1, 1, 1), square(18, 3, 5, 12, 3, 1, 1, 1),
                         square(4, 17, 3, 1, 3, 1, 0, 0)};
  for (const auto& [input, output] : {std::pair{Memory::ChannelsFirst, Memory::ChannelsFirst},
                                      {Memory::ChannelsFirst, Memory::ChannelsLast},
                                      {Memory::ChannelsLast, Memory::ChannelsFirst},
                                      {Memory::ChannelsLast, Memory::ChannelsLast}}) {
    for (const auto& [before, behind] : {std::pair{0, 16}, {16, 0}, {3, 48}}) {
      for (Options o : all) {
        o.input = input, o.output = output, o.dtype = GetParam(), o.input_room = before, o.output_room = behind;
        expect_all_passes(o, 1);
        expect_all_passes(o, 2);
        for (const bool bias : {false, true}) {
          o.bias = bias, o.relu = true;
          const Convolution d = describe(o, ConvolutionPass::Forward);
          test::expect_convolution(runtime::cpu(), d, candidates(d), 1 + static_cast<int>(bias));
        }
      }
    }
  }
}

// Groups of 8 and 24 channels are computed in blocks of eight, whatever layouts they are given in, and so ask for none; wide groups do, and depthwise ones
// of small planes.
TEST(Convolution, NarrowGroupsMatchInAnyLayout) {
  for (const auto& [groups, channels] : {std::pair{4, 8}, {2, 24}, {2, 16}, {16, 1}}) {
    Options o = square(5, groups * channels, 3, groups * channels, 3, 1, 1, 1);
    o.groups = groups;
    EXPECT_EQ(convolution_prefers_channels_last(describe(o, ConvolutionPass::Forward)), channels % 8 != 0 || channels % 16 == 0)
        << channels;
    for (const auto input : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
      for (const auto output : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
        o.input = input, o.output = output;
        expect_all_passes(o, 1);
        expect_all_passes(o, 2);
      }
    }
  }
}

TEST(Convolution, SameThreadCountGivesTheSameBits) {
  const Options o{.n = 40,
                  .c = 5,
                  .k = 12,
                  .in = {9, 9},
                  .kernel = {3, 3},
                  .stride = {1, 1},
                  .dilation = {1, 1},
                  .low = {1, 1},
                  .high = {1, 1},
                  .bias = true};
  const Convolution d = describe(o, ConvolutionPass::BackwardWeight);
  Tensor x(f32, d.input.layout), y(f32, d.output.layout), first(f32, d.weight.layout), second(f32, d.weight.layout),
      bias(f32, Layout::dense({12}));
  x.randomize(), y.randomize();
  const auto call = make_convolution(d);
  for (const int threads : {1, 2}) {
    test::run_guarded(runtime::cpu(), *call, {&x, &y, &first, &bias}, threads);
    for (int i = 0; i < 5; ++i) {
      test::run_guarded(runtime::cpu(), *make_convolution(d), {&x, &y, &second, &bias}, threads);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), static_cast<std::size_t>(numel(d.weight.layout.shape)) * 4), 0);
    }
  }
}

TEST(Convolution, OneCallRunsInSeveralThreadsAtOnce) {
  const Options o{
      .n = 2, .c = 16, .k = 32, .in = {9, 9}, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .low = {1, 1}, .high = {1, 1}};
  const Convolution d = describe(o, ConvolutionPass::Forward);
  Tensor x(f32, d.input.layout), w(f32, d.weight.layout), expected(f32, d.output.layout);
  x.randomize(), w.randomize();
  // With two threads one caller at a time has the workers and the others do all parts themselves: the assignment of parts to threads changes no bit.
  for (const int threads : {1, 2}) {
    for (const auto& call : candidates(d)) {
      test::run_guarded(runtime::cpu(), *call, {&x, &w, &expected}, threads);
      std::vector<int> wrong(4, 0);
      std::vector<std::thread> callers;
      for (std::size_t caller = 0; caller < wrong.size(); ++caller) {
        callers.emplace_back([&, caller] {
          for (int i = 0; i < 20; ++i) {
            Tensor y(f32, d.output.layout);
            test::run_guarded(runtime::cpu(), *call, {&x, &w, &y}, threads);
            wrong[caller] += std::memcmp(y.data(), expected.data(), static_cast<std::size_t>(numel(d.output.layout.shape)) * 4) != 0;
          }
        });
      }
      for (std::thread& caller : callers) caller.join();
      for (const int count : wrong) EXPECT_EQ(count, 0) << call->describe() << ", " << threads << " threads";
    }
  }
}

TEST(Convolution, BatchesThatThreadsDoNotDivideMatch) {
  const int before = num_threads();
  for (const int threads : {3, 5}) {
    set_num_threads(threads);
    for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
      for (const std::int64_t batch : {2, 7, 11}) {
        for (Options o :
             {square(batch, 64, 6, 96, 3, 1, 1, 1), square(batch, 16, 9, 32, 3, 2, 1, 1), square(batch, 3, 12, 17, 5, 1, 2, 2)}) {
          o.input = o.output = order;
          o.bias = true;
          expect_all_passes(o, threads);
        }
      }
    }
  }
  set_num_threads(before);
}

TEST(Convolution, ReluKeepsNan) {
  for (const std::int64_t n : {1, 16}) {
    const Options o{.n = n,
                    .c = 16,
                    .k = 16,
                    .in = {4, 4},
                    .kernel = {3, 3},
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .low = {1, 1},
                    .high = {1, 1},
                    .relu = true};
    const Convolution d = describe(o, ConvolutionPass::Forward);
    Tensor x(f32, d.input.layout), w(f32, d.weight.layout), y(f32, d.output.layout);
    x.randomize(), w.randomize();
    x.set({0, 3, 2, 2}, std::numeric_limits<double>::quiet_NaN());
    test::run_guarded(runtime::cpu(), *make_convolution(d), {&x, &w, &y}, 1);
    EXPECT_TRUE(std::isnan(y({0, 5, 2, 2})));
    EXPECT_FALSE(std::isnan(y({0, 5, 0, 0})));
  }
}

TEST(Convolution, WhatDoesNotFitIsRefused) {
  const Options o{
      .n = 2, .c = 4, .k = 4, .in = {5, 5}, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .low = {0, 0}, .high = {0, 0}};
  Convolution d = describe(o, ConvolutionPass::Forward);
  EXPECT_NO_THROW(make_convolution(d));
  d = d.in(i32);
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.output.layout.shape[2] = 4;
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.groups = 2;
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.epilogue = runtime::tanh(f32);
  EXPECT_THROW(make_convolution(d), Error);
}

}  // namespace
}  // namespace tegula::host
