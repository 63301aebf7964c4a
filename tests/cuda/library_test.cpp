// The GPU's library calls against the naive loops. Skipped, with the reason, where there is no GPU.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/runtime/registry.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Arithmetic;
using runtime::Convolution;
using runtime::ConvolutionPass;
using runtime::Matmul;
using runtime::Pooling;
using runtime::PoolingKind;
using runtime::Scale;
using test::activations;
using test::ConvolutionOptions;
using test::matrix;
using test::MatrixOrder;
using test::Memory;
using test::pick;
using test::square;
using test::Tensor;

class OnGpu : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_count(&why) == 0) GTEST_SKIP() << why;
  }
};

class GpuMatmul : public OnGpu {};
class GpuConvolution : public OnGpu {};
class GpuPooling : public OnGpu {};
class GpuScatterSum : public OnGpu {};
const auto kFloats = testing::Values(f64, f32, f16, bf16);
std::string dtype_name(const testing::TestParamInfo<DType>& info) { return std::string(name(info.param)); }
INSTANTIATE_TEST_SUITE_P(Floats, GpuMatmul, kFloats, dtype_name);
INSTANTIATE_TEST_SUITE_P(Floats, GpuConvolution, kFloats, dtype_name);
INSTANTIATE_TEST_SUITE_P(Floats, GpuPooling, kFloats, dtype_name);
INSTANTIATE_TEST_SUITE_P(Numbers, GpuScatterSum, testing::Values(f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8), dtype_name);

Arithmetic some_arithmetic(int round) { return round % 2 ? Arithmetic::TF32 : Arithmetic::Full; }

TEST_P(GpuMatmul, RandomShapesInEveryOrientationMatchTheNaiveLoop) {
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    Matmul d = test::random_matmul(GetParam(), 70);
    d.arithmetic = some_arithmetic(round);
    test::expect_matmul(cuda(), d, 1);
  }
}

TEST_P(GpuMatmul, EveryEpilogueMatches) {
  for (const runtime::Expression& activation : test::activations_of(GetParam())) {
    for (const bool bias : {false, true}) {
      for (const MatrixOrder order : {MatrixOrder::Rows, MatrixOrder::Columns}) {
        test::expect_matmul(cuda(),
                            {.a = {GetParam(), matrix({64, 72}, MatrixOrder::Rows)},
                             .b = {GetParam(), matrix({72, 48}, MatrixOrder::Columns)},
                             .c = {GetParam(), matrix({64, 48}, order)},
                             .epilogue = test::with_bias(bias, activation)},
                            1);
      }
    }
  }
}

TEST_P(GpuMatmul, LargeProductsMatchInFullPrecision) {
  for (const auto& [m, n, k] : {std::array{200, 150, 300}, std::array{13, 500, 700}, std::array{1, 900, 1000}, std::array{900, 1, 1000},
                                std::array{2, 64, 3000}, std::array{512, 256, 512}}) {
    for (int order = 0; order < 8; ++order) {
      const auto of = [&](int bit) { return order >> bit & 1 ? MatrixOrder::Rows : MatrixOrder::Columns; };
      test::expect_matmul(cuda(),
                          {.a = {GetParam(), matrix({m, k}, of(0))},
                           .b = {GetParam(), matrix({k, n}, of(1))},
                           .c = {GetParam(), matrix({m, n}, of(2))},
                           .epilogue = test::with_bias(true)},
                          1);
    }
  }
}

// Sizes for which a cluster shares out the inner axis; on tensor cores in f32.
TEST_P(GpuMatmul, ProductsOfMiddleSizeMatch) {
  for (const auto& [m, n, k] : {std::array{128, 784, 1024}, std::array{250, 260, 700}, std::array{96, 640, 2050}}) {
    for (const MatrixOrder order : {MatrixOrder::Rows, MatrixOrder::Columns}) {
      test::expect_matmul(cuda(),
                          {.a = {GetParam(), matrix({m, k}, MatrixOrder::Columns)},
                           .b = {GetParam(), matrix({k, n}, order)},
                           .c = {GetParam(), matrix({m, n}, MatrixOrder::Rows)},
                           .arithmetic = Arithmetic::TF32,
                           .epilogue = test::with_bias(order == MatrixOrder::Columns)},
                          1);
    }
  }
}

TEST_P(GpuMatmul, BatchesInSeveralAxesWithBroadcastOperandsMatch) {
  for (const bool broadcast_a : {false, true}) {
    for (const bool broadcast_b : {false, true}) {
      test::expect_matmul(cuda(),
                          {.a = {GetParam(), matrix({3, 5, 16, 24}, MatrixOrder::Rows, 8, broadcast_a)},
                           .b = {GetParam(), matrix({3, 5, 24, 8}, MatrixOrder::Rows, 0, broadcast_b)},
                           .c = {GetParam(), matrix({3, 5, 16, 8}, MatrixOrder::Rows, 8)},
                           .epilogue = test::with_bias(true, runtime::relu(GetParam()))},
                          1);
      // (batch, head) of attention: the heads lie between the rows
      const Layout a{{2, 4, 16, 8}, {16 * 32, 8, 32, 1}}, b{{2, 4, 8, 16}, {16 * 32, 8, 1, 32}};
      test::expect_matmul(cuda(), {.a = {GetParam(), a}, .b = {GetParam(), b}, .c = {GetParam(), Layout::dense({2, 4, 16, 16})}}, 1);
    }
  }
}

TEST_P(GpuMatmul, EmptyAxes) {
  const auto rows = MatrixOrder::Rows;
  test::expect_matmul(cuda(),
                      {.a = {GetParam(), matrix({3, 0}, rows)},
                       .b = {GetParam(), matrix({0, 4}, rows)},
                       .c = {GetParam(), matrix({3, 4}, rows)},
                       .epilogue = test::with_bias(true)},
                      1);
  test::expect_matmul(cuda(),
                      {.a = {GetParam(), matrix({3, 0}, rows)},
                       .b = {GetParam(), matrix({0, 4}, rows)},
                       .c = {GetParam(), matrix({3, 4}, MatrixOrder::Columns)}},
                      1);
  test::expect_matmul(cuda(),
                      {.a = {GetParam(), matrix({0, 5}, rows)},
                       .b = {GetParam(), matrix({5, 4}, rows)},
                       .c = {GetParam(), matrix({0, 4}, rows)},
                       .epilogue = test::with_bias(true)},
                      1);
  test::expect_matmul(
      cuda(),
      {.a = {GetParam(), matrix({0, 2, 5}, rows)}, .b = {GetParam(), matrix({0, 5, 4}, rows)}, .c = {GetParam(), matrix({0, 2, 4}, rows)}},
      1);
  test::expect_matmul(
      cuda(), {.a = {GetParam(), matrix({4, 5}, rows)}, .b = {GetParam(), matrix({5, 0}, rows)}, .c = {GetParam(), matrix({4, 0}, rows)}},
      1);
}

/// The result of `call` for operands that begin `shift` elements after a 16-byte boundary.
std::vector<float> shifted_result(const runtime::Call& call, const std::vector<std::vector<float>>& inputs, std::size_t results,
                                  std::size_t shift) {
  Device& device = cuda();
  std::vector<Ref<Buffer>> kept;
  std::vector<void*> buffers;
  const auto place = [&](std::size_t count) {
    kept.push_back(device.allocate((count + shift) * sizeof(float)));
    buffers.push_back(static_cast<float*>(kept.back()->data()) + shift);
  };
  for (const auto& input : inputs) {
    place(input.size());
    device.copy_in(buffers.back(), input.data(), input.size() * sizeof(float));
  }
  place(results);
  const auto scratch = device.allocate(call.scratch_bytes() + 1);
  call.run(buffers, {.scratch = scratch->data()});
  std::vector<float> result(results);
  device.synchronize();
  device.copy_out(result.data(), buffers.back(), results * sizeof(float));
  return result;
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(test::pick(-1000, 1000)) / 1000;
  return values;
}

void expect_close(const std::vector<float>& got, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

using GpuLibrary = OnGpu;
INSTANTIATE_TEST_SUITE_P(F32, GpuLibrary, testing::Values(f32), dtype_name);

TEST_P(GpuLibrary, OperandsMayBeginAnywhere) {
  const Matmul d{.a = {f32, Layout::dense({64, 32})},
                 .b = {f32, Layout::dense({32, 16})},
                 .c = {f32, Layout::dense({64, 16})},
                 .epilogue = test::with_bias(true)};
  const auto product = cuda().make(d);
  const std::vector inputs{numbers(64 * 32), numbers(32 * 16), numbers(16)};
  const auto expected = shifted_result(*product, inputs, 64 * 16, 0);
  for (const std::size_t shift : {1, 2, 3}) expect_close(shifted_result(*product, inputs, 64 * 16, shift), expected, 1e-5f);

  const Convolution c = test::describe(square(2, 8, 10, 16, 3, 1, 1, 1), ConvolutionPass::Forward);
  const auto convolution = cuda().make(c);
  const std::vector operands{numbers(2 * 8 * 100), numbers(16 * 8 * 9), numbers(16)};
  const auto wanted = shifted_result(*convolution, operands, 2 * 16 * 100, 0);
  for (const std::size_t shift : {1, 2, 3}) expect_close(shifted_result(*convolution, operands, 2 * 16 * 100, shift), wanted, 1e-5f);
}

// 1.0 and 1.5 as codes, under factors of 2 and 0.5; large enough to be measured.
TEST_P(GpuLibrary, ProductsOfCodesCarryBothFactors) {
  constexpr std::int64_t kRows = 64, kColumns = 48, kInner = 80;
  Device& device = cuda();
  for (const DType dtype : {f32, bf16}) {
    const Matmul codes{.a = {u8, Layout::dense({kRows, kInner}), Scale::Factor},
                       .b = {u8, matrix({kInner, kColumns}, MatrixOrder::Columns), Scale::Factor},
                       .c = {dtype, Layout::dense({kRows, kColumns})}};
    if (!device.takes(codes)) GTEST_SKIP() << "no products of codes";
    const auto call = device.make(codes);
    EXPECT_NE(call->describe().find("algorithm"), std::string::npos) << call->describe();
    const std::vector<std::uint8_t> a(kRows * kInner, 0x38), b(kColumns * kInner, 0x3c);
    const std::array<float, 2> factors{2, 0.5};
    const auto place = [&](const void* from, std::size_t bytes) {
      auto buffer = device.allocate(bytes);
      if (from) device.copy_in(buffer->data(), from, bytes);
      return buffer;
    };
    const auto at_a = place(a.data(), a.size()), at_b = place(b.data(), b.size()), first = place(&factors[0], 4),
               second = place(&factors[1], 4), c = place(nullptr, kRows * kColumns * size_of(dtype)),
               scratch = place(nullptr, call->scratch_bytes() + 1);
    const std::array<void*, 5> buffers{at_a->data(), at_b->data(), first->data(), second->data(), c->data()};
    call->run(buffers, {.scratch = scratch->data()});
    std::vector<std::byte> got(kRows * kColumns * size_of(dtype));
    device.synchronize();
    device.copy_out(got.data(), c->data(), got.size());
    const float expected = 1.5F * kInner;  // 120: exact in bf16
    for (std::size_t i = 0; i < kRows * kColumns; ++i) {
      std::uint32_t word = 0;
      std::memcpy(reinterpret_cast<std::byte*>(&word) + (4 - size_of(dtype)), got.data() + i * size_of(dtype), size_of(dtype));
      ASSERT_EQ(std::bit_cast<float>(word), expected) << i << " of " << call->describe();
    }
  }
}

TEST_P(GpuLibrary, ActivationsKeepNanAndSurviveLargeValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::array values{nan, 1000.0, -1000.0, inf, -0.0, 1e-20};
  const std::vector<runtime::Expression> activations = test::activations_of(f32);
  for (std::size_t activation = 1; activation <= 5; ++activation) {
    const Matmul d{.a = {f32, matrix({1, 1}, MatrixOrder::Rows)},
                   .b = {f32, matrix({1, 6}, MatrixOrder::Rows)},
                   .c = {f32, matrix({1, 6}, MatrixOrder::Rows)},
                   .epilogue = activations[activation]};
    Tensor one(f32, d.a.layout), x(f32, d.b.layout), y(f32, d.c.layout);
    one.set({0, 0}, 1);
    for (int i = 0; i < 6; ++i) x.set({0, i}, values[static_cast<std::size_t>(i)]);
    const auto call = cuda().make(d);
    ASSERT_TRUE(test::run_guarded(cuda(), *call, {&one, &x, &y}, 1));
    EXPECT_TRUE(std::isnan(y({0, 0}))) << call->describe() << activation;
    for (int i = 1; i < 3; ++i) EXPECT_NEAR(y({0, i}), test::evaluate(d.epilogue, x({0, i})), 1e-4) << activation;
    EXPECT_EQ(y({0, 3}), activation <= 3 ? inf : 1.0) << activation;
    EXPECT_NEAR(y({0, 5}), test::evaluate(d.epilogue, x({0, 5})), 1e-6) << activation;
  }
}

TEST_P(GpuLibrary, ReluOfAConvolutionKeepsNan) {
  for (const DType dtype : {f32, f16, bf16}) {
    ConvolutionOptions o = square(2, 16, 8, 32, 3, 1, 1, 1);
    o.dtype = dtype, o.relu = true;
    if (dtype != f32) o.input = o.output = Memory::ChannelsLast;
    const Convolution d = test::describe(o, ConvolutionPass::Forward);
    Tensor x(dtype, d.input.layout), w(dtype, d.weight.layout), bias(dtype, Layout::dense({32})), y(dtype, d.output.layout);
    x.randomize(), w.randomize(), bias.randomize();
    x.set({1, 3, 4, 4}, std::numeric_limits<double>::quiet_NaN());
    const auto call = cuda().make(d);
    ASSERT_TRUE(test::run_guarded(cuda(), *call, {&x, &w, &bias, &y}, 1));
    EXPECT_TRUE(std::isnan(y({1, 7, 4, 4}))) << call->describe();
    EXPECT_FALSE(std::isnan(y({0, 7, 4, 4}))) << call->describe();
  }
}

TEST_P(GpuLibrary, TheSameCallGivesTheSameBits) {
  for (const DType dtype : {f32, bf16}) {
    for (const auto pass : test::kPasses) {
      ConvolutionOptions o = square(16, 32, 14, 64, 3, 1, 1, 1);
      o.dtype = dtype, o.bias = pass != ConvolutionPass::BackwardData;
      const Convolution d = test::describe(o, pass);
      const Layout& result = pass == ConvolutionPass::Forward        ? d.output.layout
                             : pass == ConvolutionPass::BackwardData ? d.input.layout
                                                                     : d.weight.layout;
      const bool forward = pass == ConvolutionPass::Forward;
      Tensor a(dtype, forward ? d.input.layout : d.output.layout), b(dtype, d.weight.layout), bias(dtype, Layout::dense({64})),
          first(dtype, result), again(dtype, result);
      Tensor x(dtype, d.input.layout);
      a.randomize(), b.randomize(), bias.randomize(), x.randomize();
      const auto call = cuda().make(d);
      const auto run = [&](Tensor& to) {
        if (forward) return test::run_guarded(cuda(), *call, {&a, &b, &bias, &to}, 1);
        if (pass == ConvolutionPass::BackwardData) return test::run_guarded(cuda(), *call, {&a, &b, &to}, 1);
        return test::run_guarded(cuda(), *call, {&x, &a, &to, &bias}, 1);
      };
      ASSERT_TRUE(run(first));
      for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(run(again));
        EXPECT_EQ(std::memcmp(first.storage(), again.storage(), first.storage_bytes()), 0) << call->describe();
      }
    }
  }
}

TEST_P(GpuLibrary, CallsCanBeRecorded) {
  Device& device = cuda();
  const Matmul d{.a = {f32, Layout::dense({64, 32})},
                 .b = {f32, Layout::dense({32, 48})},
                 .c = {f32, Layout::dense({64, 48})},
                 .epilogue = runtime::sigmoid(f32)};
  const Convolution c = test::describe(square(4, 8, 12, 16, 3, 1, 1, 1), ConvolutionPass::BackwardWeight);
  const auto product = device.make(d);
  const auto convolution = device.make(c);
  std::vector<Ref<Buffer>> memory;
  const auto filled = [&](std::size_t count) {
    const auto values = numbers(count);
    memory.push_back(device.allocate(count * sizeof(float)));
    device.copy_in(memory.back()->data(), values.data(), count * sizeof(float));
    return memory.back()->data();
  };
  const auto size = [](const Layout& layout) { return static_cast<std::size_t>(numel(layout.shape)); };
  std::vector<void*> matrices{filled(size(d.a.layout)), filled(size(d.b.layout)), filled(size(d.c.layout))};
  std::vector<void*> images{filled(size(c.input.layout)), filled(size(c.output.layout)), filled(size(c.weight.layout)), filled(16)};
  const auto scratch = device.allocate(product->scratch_bytes() + convolution->scratch_bytes() + 512);
  const auto work = [&] {
    product->run(matrices, {.scratch = scratch->data()});
    convolution->run(images, {.scratch = scratch->data()});
  };
  const auto results = [&] {
    device.synchronize();
    std::vector<float> values(size(d.c.layout) + size(c.weight.layout));
    device.copy_out(values.data(), matrices[2], size(d.c.layout) * sizeof(float));
    device.copy_out(values.data() + size(d.c.layout), images[2], size(c.weight.layout) * sizeof(float));
    return values;
  };
  work();
  const auto expected = results();
  const auto recording = device.queue().record(work);
  ASSERT_TRUE(recording);
  const std::vector<float> zeros(std::max(size(d.c.layout), size(c.weight.layout)), 0.0f);
  device.copy_in(matrices[2], zeros.data(), size(d.c.layout) * sizeof(float));
  device.copy_in(images[2], zeros.data(), size(c.weight.layout) * sizeof(float));
  recording->replay();
  EXPECT_EQ(results(), expected);
}

void expect_all_passes(const ConvolutionOptions& o) {
  for (const auto pass : test::kPasses) {
    const Convolution d = test::describe(o, pass);
    std::vector<std::unique_ptr<runtime::Call>> calls;
    calls.push_back(cuda().make(d));
    test::expect_convolution(cuda(), d, calls, 1);
  }
}

TEST_P(GpuConvolution, RandomShapesAndLayoutsMatchTheNaiveLoops) {
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    ConvolutionOptions o = test::random_convolution(GetParam());
    o.arithmetic = some_arithmetic(round);
    expect_all_passes(o);
  }
}

TEST_P(GpuConvolution, EmptyAxesGiveZerosOrTheBias) {
  ConvolutionOptions usual = square(2, 3, 5, 4, 3, 1, 1, 1);
  usual.dtype = GetParam();
  ConvolutionOptions o = usual;
  o.n = 0;
  expect_all_passes(o);
  o = usual, o.c = 0;
  expect_all_passes(o);
  o = usual, o.k = 0;
  expect_all_passes(o);
}

TEST_P(GpuConvolution, PaddedMoreOnOneSideMatches) {  // cuDNN's engine 6 does not
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    for (const int groups : {1, 6}) {
      ConvolutionOptions o{.c = 6, .k = 6, .in = {8}, .kernel = {3}, .stride = {1}, .dilation = {1}, .low = {1}, .high = {2}};
      o.dtype = GetParam(), o.groups = groups, o.input = o.output = order;
      expect_all_passes(o);
      o.n = 2, o.in = {9, 8}, o.kernel = {3, 4}, o.stride = o.dilation = {1, 1}, o.low = {0, 1}, o.high = {1, 2};
      expect_all_passes(o);
    }
  }
}

TEST_P(GpuConvolution, DilatedAndStridedMatches) {  // cuDNN's engine 7 does not
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    ConvolutionOptions o{.c = 6, .k = 8, .in = {3}, .kernel = {2}, .stride = {3}, .dilation = {2}, .low = {1}, .high = {1}};
    o.dtype = GetParam(), o.input = o.output = order, o.relu = true;
    expect_all_passes(o);
    o.in = {17}, o.bias = true;
    expect_all_passes(o);
    o.n = 3, o.in = {9, 8}, o.kernel = {2, 3}, o.stride = {2, 3}, o.dilation = {2, 2}, o.low = o.high = {1, 2};
    expect_all_passes(o);
  }
}

TEST_P(GpuConvolution, PixelsLeftAtTheEndMatch) {  // cuDNN's engine 4 leaves results of rows unwritten
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    ConvolutionOptions o{.n = 4, .c = 4, .k = 5, .in = {4}, .kernel = {3}, .stride = {2}, .dilation = {1}, .low = {0}, .high = {0}};
    o.dtype = GetParam(), o.input = o.output = order, o.relu = true, o.arithmetic = runtime::Arithmetic::TF32;
    expect_all_passes(o);
    o.k = 6, o.in = {3}, o.kernel = {2}, o.stride = {3};
    expect_all_passes(o);
  }
}

TEST_P(GpuConvolution, LayersOfRealNetworksMatch) {
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    for (ConvolutionOptions o : {square(17, 1, 14, 12, 3, 1, 1, 1), square(16, 12, 10, 24, 6, 2, 2, 2), square(2, 3, 20, 64, 7, 2, 3, 3),
                                 square(2, 64, 7, 64, 3, 1, 1, 1), square(8, 64, 8, 96, 1, 1, 0, 0), square(2, 32, 9, 48, 1, 2, 0, 0),
                                 square(2, 16, 12, 16, 3, 2, 0, 1), square(2, 16, 12, 16, 4, 1, 1, 2)}) {
      o.dtype = GetParam(), o.input = o.output = order, o.relu = true;
      expect_all_passes(o);
    }
  }
}

TEST_P(GpuConvolution, ImagesOfFewChannelsInStepsMatch) {  // which may be folded
  for (ConvolutionOptions o : {square(2, 3, 20, 64, 7, 2, 3, 3), square(3, 1, 17, 16, 4, 3, 1, 2)}) {
    o.dtype = GetParam(), o.input = o.output = Memory::ChannelsLast, o.bias = true, o.relu = true;
    expect_all_passes(o);
  }
}

TEST_P(GpuConvolution, ChannelsLastThroughoutWithEveryEpilogueMatches) {
  for (ConvolutionOptions o : {square(9, 1, 28, 12, 3, 1, 1, 1), square(5, 12, 28, 24, 6, 2, 2, 2), square(6, 24, 14, 32, 6, 2, 2, 2),
                               square(2, 64, 7, 64, 3, 1, 1, 1), square(2, 64, 7, 256, 1, 1, 0, 0), square(3, 5, 9, 7, 3, 2, 1, 1)}) {
    o.dtype = GetParam(), o.input = o.output = o.weight = Memory::ChannelsLast, o.arithmetic = Arithmetic::TF32;
    expect_all_passes(o);
    o.relu = true;
    expect_all_passes(o);
    if (GetParam() == f64) continue;
    o.addend = true;
    expect_all_passes(o);
    o.bias = false, o.relu = false;
    expect_all_passes(o);
  }
}

TEST_P(GpuPooling, RandomWindowsAndLayoutsMatchTheNaiveLoops) {
  for (int round = 0; round < 60 && !HasFailure(); ++round) test::expect_pooling(cuda(), test::random_pooling(GetParam()), 1);
}

TEST_P(GpuPooling, NanCountsAsMaximumAndTheFirstOfEqualsIsTaken) {
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    Pooling d = test::random_pooling(GetParam());
    d.kind = PoolingKind::Max;
    d.wants_taps = !d.backward && pick(0, 1) == 1;
    test::expect_pooling(cuda(), d, 1, round % 3 * 0.1 + 0.001);
  }
}

TEST_P(GpuScatterSum, RowsOfAllLengthsMatchTheNaiveLoops) {
  const auto check = [&](runtime::ScatterSum d, test::Named named) {
    d.dtype = GetParam();
    test::expect_scatter_sum(cuda(), *cuda().make(d), d, test::random_rows(named, d.count, d.length), 1);
  };
  for (int round = 0; round < 3; ++round) {  // each shape is compiled
    check({.outer = pick(1, 3), .count = pick(0, 3000), .length = pick(1, 900), .width = pick(1, 20)}, static_cast<test::Named>(round));
  }
  if (GetParam() != f32 && GetParam() != bf16) return;
  check({.outer = 1, .count = 5000, .length = 70000, .width = 8}, test::Named::Anything);
  check({.outer = 1, .count = 60000, .length = 50304, .width = 16}, test::Named::OneRow);
  check({.outer = 2, .count = 300000, .length = 300000, .width = 1}, test::Named::EachOnce);
}

TEST_P(GpuLibrary, WhatIsNotAFloatIsRefused) {
  const Layout layout = matrix({2, 2}, MatrixOrder::Rows);
  EXPECT_THROW(cuda().make(Matmul{.a = {i32, layout}, .b = {i32, layout}, .c = {i32, layout}}), Error);
  EXPECT_THROW(cuda().make(Matmul{.a = {f32, layout}, .b = {f32, matrix({3, 2}, MatrixOrder::Rows)}, .c = {f32, layout}}), Error);
  Pooling d = test::random_pooling(f32);
  d = d.in(i32);
  EXPECT_THROW(cuda().make(d), Error);
  Convolution c = test::describe(square(1, 2, 5, 4, 3, 1, 1, 1), ConvolutionPass::Forward);
  c = c.in(u8);
  EXPECT_THROW(cuda().make(c), Error);
}

}  // namespace
}  // namespace tegula::gpu
