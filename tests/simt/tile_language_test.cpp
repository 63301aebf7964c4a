// Kernels in the tile language as CUDA text, on emulated threads, beside the interpreter.

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/graph/node.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/random.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tegula/tile/passes/parameters.h"
#include "tests/support/number_formats.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/tile_atomic_kernels.h"
#include "tests/support/tile_kernels.h"
#include "tests/support/tile_parameter_kernels.h"
#include "tests/support/tile_shape_kernels.h"
#include "tests/support/tile_type_kernels.h"

namespace kernels {
using namespace tegula::tile;

/// Sums along an axis of (T, N), of which a block has all, that change their sign where a block has an element above 5, or in each block.
const auto scaled_rows = jit("scaled_rows", [](Ptr<float> x, Out<float> y, Int T, Int N, Const<int> BT, Const<int> BN, Const<int> FIRST) {
  auto t = program_id(0) * BT + arange(0, BT);
  auto total = full<float>({BT, 1}, int(FIRST)), all = zeros<float>({BT, 1});
  for (auto first : range(0, N, BN)) {
    auto n = first + arange(0, BN);
    auto tile = load(x + col(t) * N + row(n), col(t) < T && row(n) < N);
    total = total * where(max(tile, 1, Axis::Keep) > 5.0, -1.0, 1.0) + sum(tile, 1, Axis::Keep);
    all = sum(tile * 2.0, 1, Axis::Keep) + where(first > BN, -1.0, 1.0) * all;
  }
  store(y + col(t), total + all, col(t) < T);
});
const auto scaled_columns = jit("scaled_columns", [](Ptr<float> x, Out<float> y, Int T, Int N, Const<int> BT, Const<int> BN) {
  auto n = program_id(0) * BN + arange(0, BN);
  auto total = zeros<float>({1, BN});
  for (auto first : range(0, T, BT)) {
    auto t = first + arange(0, BT);
    auto tile = load(x + col(t) * N + row(n), col(t) < T && row(n) < N);
    total = total * where(max(tile, 0, Axis::Keep) > 5.0, -1.0, 1.0) + sum(tile, 0, Axis::Keep);
  }
  store(y + row(n), total, row(n) < N);
});
}  // namespace kernels

namespace tegula::gpu {
namespace {

using tile::cdiv, tile::out;

TEST(TileLanguageOnAGpu, PortedKernelsGiveTheSameValues) {
  const Tensor x = normal({5, 30});
  EXPECT_TRUE(same_on_a_gpu(kernels::softmax_rows({2}, x, out({5, 30}), 5, 30, 32), {2, 1, 1}, {5, 30}, 64));
  const Tensor a = normal({20, 9}), b = normal({9, 17});
  EXPECT_TRUE(same_on_a_gpu(kernels::matmul({6}, a, b, out({20, 17}), 20, 17, 9, 16, 8, 4, 2), {6, 1, 1}, {20, 17, 9}, 4096));
  const Tensor q = uniform({2, 20, 8}), k = uniform({2, 20, 8}), v = uniform({2, 20, 8});
  EXPECT_TRUE(same_on_a_gpu(kernels::attention({3, 2}, q, k, v, out({2, 20, 8}), 20, 8, 8, 8), {3, 2, 1}, {20}, 4096));
  const Tensor bins = cast(remainder(arange(100), 10.0), i32);
  EXPECT_TRUE(same_on_a_gpu(kernels::histogram({4}, bins, out({10}, 0), 100, 32), {4, 1, 1}, {100}));
}

TEST(TileLanguageOnAGpu, LoopsCarryTheSameValues) {
  for (const std::int64_t n : {0, 1, 10}) EXPECT_TRUE(same_on_a_gpu(kernels::control({1}, out({6}), n), {1, 1, 1}, {n})) << n;
  for (const std::int64_t n : {-2, 5, 9}) EXPECT_TRUE(same_on_a_gpu(kernels::down({1}, out({4}), n), {1, 1, 1}, {n})) << n;
  EXPECT_TRUE(same_on_a_gpu(moving::collatz({1}, out({1}), 10, 20), {1, 1, 1}, {10}));
}

TEST(TileLanguageOnAGpu, SumsThatAreScaledOnTheWayAreBroughtTogetherBehindTheLoop) {
  const auto together = [](const std::vector<Tensor>& results) {
    const tile::Program& program = TileKernelOp::of(kernel_node(results).op())->program().program;
    const std::string text = decisions_of(program, {.facts = std::vector<std::uint8_t>(program.parameters.size(), 0)}, 90);
    int count = 0;
    for (std::size_t at = text.find("brought together"); at != std::string::npos; at = text.find("brought together", at + 1)) ++count;
    return count;
  };
  for (const auto& [T, N] : {std::pair<std::int64_t, std::int64_t>{8, 2000}, {11, 64}, {3, 1}}) {
    const Tensor x = reshape(remainder(arange(static_cast<double>(T * N)) * 5.0, 7.0), {T, N});
    for (const int columns : {32, 512}) {
      for (const int first : {0, 1}) {
        const auto rows = kernels::scaled_rows({cdiv(T, 4)}, x, out({T}), T, N, 4, columns, first);
        EXPECT_TRUE(same_on_a_gpu(rows, {cdiv(T, 4), 1, 1}, {T, N})) << T << " " << N << " " << columns;
        EXPECT_EQ(together(rows), first == 0 ? 2 : 1);  // what does not begin with zeros is multiplied, too
      }
      const auto sums = kernels::scaled_columns({cdiv(N, columns)}, x, out({N}), T, N, 4, columns);
      EXPECT_TRUE(same_on_a_gpu(sums, {cdiv(N, columns), 1, 1}, {T, N})) << T << " " << N << " " << columns;
      EXPECT_EQ(together(sums), 1);
    }
  }
}

TEST(TileLanguageOnAGpu, MovedElementsLieInTheSamePlaces) {
  const auto one = [](const std::vector<Tensor>& results) { return same_on_a_gpu(results, {1, 1, 1}, {}, 64); };
  EXPECT_TRUE(one(moving::axes({1}, arange(30.0f), out({5, 2, 3}), out({2, 5, 3}), out({2, 3, 5}), out({2, 2, 5}))));
  const Tensor x = cast(arange(4), i32), y = cast(arange(4) + 10.0, i32);
  EXPECT_TRUE(one(moving::halves({1}, x, y, out({4, 2}), out({8}), out({8}), out({4}), out({4}))));
  EXPECT_TRUE(one(moving::functions({1}, uniform({3, 7}), out({3}), out({3}), out({3, 7}), out({3, 7}), out({3}), out({3}))));
  EXPECT_TRUE(one(moving::counts({1}, cast(remainder(arange(50), 11.0), i32), out({8}), out({8}), out({4}))));
  EXPECT_TRUE(same_on_a_gpu(moving::blocks({2}, normal({7, 10}), out({10, 7}), out({10}, 0), 7, 10, 4), {2, 1, 1}, {7, 10}, 4096));
}

TEST(TileLanguageOnAGpu, AtomicWordsLeaveTheSameNumbers) {
  const auto run = [](const auto& kernel, DType dtype) {
    const Tensor x = cast(remainder(arange(4) * 5.0 + 3.0, 8.0), dtype);
    const auto results = kernel({1}, x, tile::OutShape{{16}, 0, dtype}, tile::OutShape{{16}, 0, dtype});
    EXPECT_TRUE(same_on_a_gpu(results, {1, 1, 1}, {})) << name(dtype);
  };
  for (const DType dtype : {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8}) run(atomics::numbers, dtype);
  for (const DType dtype : {i64, i32, i16, i8, u64, u32, u16, u8}) run(atomics::bits, dtype);
}

TEST(TileLanguageOnAGpu, LoopsWithoutACountAndAssemblyGiveTheSameValues) {
  EXPECT_TRUE(same_on_a_gpu(moving::endless({1}, out({1}), out({1}), 27), {1, 1, 1}, {27}));
  EXPECT_TRUE(same_on_a_gpu(moving::by_assembly({1}, arange(8.0f), out({8})), {1, 1, 1}, {}));
  const Shape all{2, 32};
  const auto packed = moving::packed({1}, cast(arange(64) * 3, u8), cast(arange(64) - 32, f16), out(all), out(all), out(all), out(all),
                                     out(all), out(all), out(all));
  EXPECT_TRUE(same_on_a_gpu(packed, {1, 1, 1}, {}));
  if (!nvrtc_available()) return;
  const tile::Program& program = TileKernelOp::of(kernel_node(packed).op())->program().program;
  const Generated code = generate(program, {.facts = std::vector<std::uint8_t>(program.parameters.size(), 4)}, 90);
  EXPECT_GT(compile_cubin(with_prelude(code.source), 90).size(), 1000u);
}

// Tiles of every element type, as the interpreter has them; tests/ops/tile_types_test.cpp compares that with what the numbers stand for.

Tensor all_codes(DType dtype) {
  const std::int64_t count = std::int64_t{1} << 8 * size_of(dtype);
  const HostArray out = HostArray::empty(dtype, {count});
  auto* const bytes = static_cast<std::byte*>(out.buffer->data());
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(bytes + i * static_cast<std::int64_t>(size_of(dtype)), &i, size_of(dtype));
  return from_array(out);
}
/// Mixed numbers of a dtype, its ends among them.
Tensor some(DType dtype, std::uint64_t seed) {
  const HostArray out = HostArray::empty(dtype, {types::kBlock});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint64_t i = 0; i < types::kBlock; ++i) {
      const auto word = static_cast<std::int64_t>((i + seed) * 0x9e3779b97f4a7c15u);
      T& element = out.values<T>()[i];
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) element = static_cast<T>(word >> (i % 3 == 0 ? 23 : 60));
      else element = from_double<T>(static_cast<double>(word >> 50) / 1024);
    }
  });
  return from_array(out);
}

TEST(TileTypesOnAGpu, CastsGiveTheSameNumbers) {
  for (const DType from : {f16, bf16, e4m3, e5m2, i16, u16, i8, u8}) {
    const Tensor x = all_codes(from);
    const auto to = [&](DType dtype) { return tile::OutShape{x.shape(), {}, dtype}; };
    const std::int64_t blocks = x.numel() / types::kBlock;
    // For floats beyond the range of integers of 32 bits and more the compiler decides here, not the hardware: they have a test of their own.
    const bool narrow = !is_float(from);
    EXPECT_TRUE(same_on_a_gpu(types::casts({blocks}, x, to(f64), to(f32), to(f16), to(bf16), to(e4m3), to(e5m2), to(narrow ? i64 : f32),
                                           to(narrow ? i32 : f32), to(narrow ? i16 : f32), to(narrow ? i8 : f32), to(narrow ? u64 : f32),
                                           to(narrow ? u32 : f32), to(narrow ? u16 : f32), to(narrow ? u8 : f32)),
                              {blocks, 1, 1}, {}))
        << name(from);
  }
}

TEST(TileTypesOnAGpu, WhatLiesBetweenTwoNumbersIsRoundedAlike) {
  for (const DType to : {f16, e4m3, e5m2}) {
    const std::vector<float> x = test::between_neighbours(test::format_of(to), types::kBlock);
    const auto count = static_cast<std::int64_t>(x.size());
    EXPECT_TRUE(same_on_a_gpu(types::narrowed({count / types::kBlock}, tensor(x), tile::OutShape{{count}, {}, to}),
                              {count / types::kBlock, 1, 1}, {}))
        << name(to);
  }
}

TEST(TileTypesOnAGpu, ArithmeticGivesTheSameNumbers) {
  for (const DType dtype : {f16, e4m3, e5m2, i64, i16, i8, u64, u32, u16, u8}) {
    const tile::OutShape all{{types::kBlock}, {}, dtype}, divided{{types::kBlock}, {}, is_float(dtype) ? f32 : dtype};
    EXPECT_TRUE(same_on_a_gpu(types::arithmetic({1}, some(dtype, 1), some(dtype, 99), all, all, all, divided, divided, all, all, all,
                                                std::int64_t{types::kBlock}),
                              {1, 1, 1}, {types::kBlock}, 2))
        << name(dtype);
    if (is_float(dtype)) continue;
    const tile::OutShape one{{}, {}, dtype}, wide{{}, {}, size_of(dtype) >= 4 ? dtype : is_unsigned(dtype) ? u32 : i32};
    EXPECT_TRUE(same_on_a_gpu(
        types::bits({1}, some(dtype, 5), some(dtype, 7), all, all, all, tile::OutShape{{types::kBlock}, {}, i32}, wide, one, all),
        {1, 1, 1}, {}))
        << name(dtype);
    EXPECT_TRUE(same_on_a_gpu(types::counted({1}, some(dtype, 5), all, one), {1, 1, 1}, {})) << name(dtype);
    if (size_of(dtype) < 4) continue;
    EXPECT_TRUE(same_on_a_gpu(types::high({1}, some(dtype, 5), some(dtype, 7), all), {1, 1, 1}, {})) << name(dtype);
  }
}

TEST(TileTypesOnAGpu, WordsAndProductsAreTheSame) {
  const auto words = [](std::int64_t n) { return out({n}); };
  EXPECT_TRUE(
      same_on_a_gpu(types::words<std::uint32_t>({1}, words(256), words(256), words(256), words(256), std::int64_t{77}), {1, 1, 1}, {77}));
  EXPECT_TRUE(
      same_on_a_gpu(types::words<std::uint64_t>({1}, words(256), words(256), words(256), words(256), std::int64_t{77}), {1, 1, 1}, {77}));
  for (const auto& [dtype, sums] :
       {std::pair(e4m3, f32), std::pair(bf16, f32), std::pair(f64, f64), std::pair(i8, i32), std::pair(u32, u32)}) {
    for (const int batch : {0, 3}) {
      const auto shape = [&](std::int64_t rows, std::int64_t columns) {
        return batch == 0 ? Shape{rows, columns} : Shape{batch, rows, columns};
      };
      const auto filled = [&, d = dtype](const Shape& s) {
        return cast(reshape(remainder(arange(static_cast<double>(numel(s))), 7.0), s), d);
      };
      EXPECT_TRUE(same_on_a_gpu(types::products({1}, filled(shape(5, 6)), filled(shape(6, 9)), cast(filled(shape(5, 9)), sums),
                                                tile::OutShape{shape(5, 9), {}, sums}, batch, 5, 9, 6),
                                {1, 1, 1}, {}))
          << name(dtype) << " " << batch;
    }
  }
  const Tensor a = normal({16, 16}), b = normal({16, 16});
  EXPECT_TRUE(
      same_on_a_gpu(types::rounded_products({1}, a, b, out({16, 16}), out({16, 16}), out({16, 16}), out({16, 16})), {1, 1, 1}, {}, 64));
  using tile::ScaledFormat;
  const Tensor codes = reshape(cast(bitwise_and(arange(1024), 0xb7), u8), {16, 64}), scales = reshape(cast(arange(32) + 110, u8), {16, 2});
  EXPECT_TRUE(same_on_a_gpu(types::scaled<ScaledFormat::E4M3, ScaledFormat::E2M1>(
                                {1}, codes, scales, reshape(slice(codes, 0, {0, 8}), {32, 16}), scales, out({16, 16})),
                            {1, 1, 1}, {}, 64));
}

TEST(TileLanguageOnAGpu, TensorsAreReadAsTheirStridesSay) {
  const auto launched = kernels::copied({5, 3}, transpose(normal({45, 70})), out({70, 45}), 16);
  tile::Program program = TileKernelOp::of(kernel_node(launched).op())->program().program;
  constexpr std::int64_t kFirstStride = 6;  // behind two tensors and their sizes
  const auto element = [](std::size_t i) { return static_cast<double>(i % 97); };
  const std::vector<TestArgument> arguments{TestArgument::filled(f32, 45 * 70, element),
                                            TestArgument::filled(f32, 70 * 45, element),
                                            TestArgument::scalar(70),
                                            TestArgument::scalar(45),
                                            TestArgument::scalar(70),
                                            TestArgument::scalar(45),
                                            TestArgument::scalar(1),
                                            TestArgument::scalar(70)};
  EXPECT_TRUE(emulation_agrees(program, arguments, {.grids = {{5, 3, 1}}}));
  tile::fix_parameter(program, kFirstStride, 1);
  EXPECT_TRUE(emulation_agrees(program, arguments, {.grids = {{5, 3, 1}}}));
}

TEST(TileLanguageOnAGpu, WhatIsUpdatedInPlaceIsOneParameter) {
  Variable w(zeros({100}));
  const auto element = [](std::size_t i) { return static_cast<double>(i); };
  const Tensor x = arange(100.0f);
  const std::vector<Tensor> results =
      tile_kernel("grown", &tile::language::record<std::remove_cvref_t<decltype(kernels::kGrown)>>, {w.read(), x},
                  {.grid = {2}, .outputs = {{.shape = {100}, .dtype = f32, .begins_as = 0}}, .numbers = {100}, .constants = {64}});
  tile::Program program = TileKernelOp::of(kernel_node(results).op())->program().program;
  tile::drop_parameter(program, 0);
  EXPECT_TRUE(emulation_agrees(
      program, {TestArgument::filled(f32, 100, element), TestArgument::filled(f32, 100, element), TestArgument::scalar(100)},
      {.grids = {{2, 1, 1}}}));
}

}  // namespace
}  // namespace tegula::gpu
