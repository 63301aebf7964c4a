// Words along an axis, launches, failures, and errors of the compiler.

#include <thread>

#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

TestArgument numbers(DType dtype, std::size_t count) {
  std::mt19937 random(7);
  return TestArgument::filled(dtype, count, [&](std::size_t i) {
    if (dtype == boolean) return static_cast<double>(random() % 2);
    if (is_float(dtype) && i % 41 == 40) return i % 2 ? std::nan("") : -HUGE_VAL;
    return static_cast<double>(random() % 31) - 15;
  });
}

TEST(ExecutorAcross, EveryKindDTypeAndAxis) {
  const Shape shapes[] = {{1}, {7}, {16}, {130}, {1000}, {5, 1}, {1, 9}, {6, 16}, {40, 70}, {3, 4, 5}, {2, 33, 17}, {2, 3, 2, 9}};
  for (const DType dtype : {f64, f32, i64, i32, u64, u32, boolean}) {
    for (const Shape& shape : shapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        Builder b("across");
        const Value in = b.pointer("in", dtype, false);
        const std::int64_t count = numel(shape);
        const Value x = reshape(b.load(in + b.arange(0, count)), shape);
        std::vector<TestArgument> arguments{numbers(dtype, static_cast<std::size_t>(count))};
        const auto keep = [&](Value y) {
          const std::int64_t size = numel(y.shape());
          const Value out = b.pointer("out", y.dtype(), true);
          b.store(out + b.arange(0, size), reshape(y, {size}));
          arguments.push_back(TestArgument::empty(y.dtype(), static_cast<std::size_t>(size)));
        };
        if (dtype == boolean) {
          for (const Reduction kind : {Reduction::Any, Reduction::All}) keep(reduce(x, axis, kind)), keep(scan(x, axis, kind));
        } else {
          for (const Reduction kind : {Reduction::Min, Reduction::Max})
            keep(reduce(x, axis, kind)), keep(scan(x, axis, kind)), keep(arg_reduce(x, axis, kind));
          for (const bool descending : {false, true}) keep(sort(x, axis, descending)), keep(argsort(x, axis, descending));
          if (!is_float(dtype))
            keep(reduce(x, axis, Reduction::Sum)), keep(reduce(x, axis, Reduction::Prod)), keep(scan(x, axis, Reduction::Prod));
          if (is_float(dtype))
            keep(scan(x, axis, Reduction::Sum)), keep(reduce(x, axis, Reduction::Sum));  // whole numbers: exact in any order
        }
        EXPECT_TRUE(agrees(b.finish(), arguments)) << name(dtype) << to_string(shape) << " axis " << axis;
      }
    }
  }
}

TEST(ExecutorAcross, DotOfAllSizes) {
  for (const DType dtype : {f32, f64, i32}) {
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {4, 8, 32},
                                  {5, 3, 33},
                                  {7, 11, 5},
                                  {16, 16, 16},
                                  {9, 4, 70},
                                  {2, 64, 1},
                                  {15, 20, 64},
                                  {45, 300, 177}}) {
      Builder b("dot");
      const Value pa = b.pointer("a", dtype, false), pb = b.pointer("b", dtype, false), out = b.pointer("c", dtype, true);
      const auto tile = [&](Value p, std::int64_t r, std::int64_t c) { return reshape(b.load(p + b.arange(0, r * c)), {r, c}); };
      b.store(out + b.arange(0, m * n), reshape(dot(tile(pa, m, k), tile(pb, k, n), tile(out, m, n)), {m * n}));
      const auto values = [&](std::int64_t count) {
        return TestArgument::filled(dtype, static_cast<std::size_t>(count),
                                    [](std::size_t i) { return static_cast<double>(i * 7 % 13) - 6; });
      };
      EXPECT_TRUE(agrees(b.finish(), {values(m * k), values(k * n), values(m * n)}));
    }
  }
}

TEST(ExecutorAcross, MatmulWithLoopCarriedPointersAndMasks) {
  const std::int64_t M = 19, N = 23, K = 37, BM = 8, BN = 16, BK = 8;
  Builder b("matmul");
  const Value pa = b.pointer("a", f32, false), pb = b.pointer("b", f32, false), pc = b.pointer("c", f32, true), count = b.scalar("K", i64);
  const Value m = b.program_id(0) * BM + b.arange(0, BM), n = b.program_id(1) * BN + b.arange(0, BN), k = b.arange(0, BK);
  const auto result = b.for_(b.constant(std::int64_t{0}, i64), count, b.constant(BK, i64),
                             {pa + (col(m) * K + row(k)), pb + (col(k) * N + row(n)), b.full({BM, BN}, 0, f32)},
                             [&](Value start, std::span<const Value> carried) -> std::vector<Value> {
                               const Value left = count - start;
                               const Value a = b.load(carried[0], col(m < M) && row(k < left)),
                                           c = b.load(carried[1], col(k < left) && row(n < N));
                               return {carried[0] + BK, carried[1] + BK * N, dot(a, c, carried[2])};
                             });
  b.store(pc + (col(m) * N + row(n)), result[2], col(m < M) && row(n < N));
  const auto values = [&](std::int64_t size) {
    return TestArgument::filled(f32, static_cast<std::size_t>(size), [](std::size_t i) { return static_cast<double>(i * 7 % 13) - 6; });
  };
  EXPECT_TRUE(agrees(b.finish(),
                     {values(M * K), values(K * N), TestArgument::empty(f32, static_cast<std::size_t>(M * N)), TestArgument::scalar(K)},
                     {.grids = {{3, 2, 1}}}));
}

TEST(ExecutorAcross, RandomBitsArePhilox) {
  for (const std::int64_t start : {0, 1, 2, 3, 1001}) {
    for (const std::int64_t count : {1, 3, 4, 31, 32, 100, 1000}) {
      Builder b("random");
      const Value out = b.pointer("out", i32, true), seed = b.scalar("seed", i64), i = b.arange(0, count);
      b.store(out + i, random_bits(seed, i + start));
      b.store(out + i + count, random_bits(seed, i * 5 + start));
      b.store(out + 2 * count, random_bits(seed, b.constant(start, i64)));
      EXPECT_TRUE(
          agrees(b.finish(), {TestArgument::empty(i32, static_cast<std::size_t>(2 * count + 1)), TestArgument::scalar(12345678901)}));
    }
  }
}

TEST(ExecutorLaunch, GridsAxesSetsAndEmptyGrids) {
  Builder b("ids");
  const Value out = b.pointer("out", i64, true);
  const Value place = (b.program_id(2) * b.num_programs(1) + b.program_id(1)) * b.num_programs(0) + b.program_id(0);
  b.store(out + place, place * 10 + b.load(out + place));
  const Program program = b.finish();
  const auto memory = TestArgument::filled(i64, 60, [](std::size_t) { return 1.0; });
  for (const auto& grid : {std::array<std::int64_t, 3>{60, 1, 1}, {3, 4, 5}, {1, 1, 7}, {0, 4, 5}, {3, 0, 1}, {2, 2, 0}}) {
    EXPECT_TRUE(agrees(program, {memory}, {.grids = {grid}}));
  }
  EXPECT_TRUE(agrees(program, {memory}, {.grids = {}}));
}

/// One launch over parameters of different sizes, as an optimiser does it.
TEST(ExecutorLaunch, ArgumentSetsOfOneLaunchAreSharedByTheThreads) {
  Builder b("sgd");
  const Value p = b.pointer("p", f32, true), g = b.pointer("g", f32, false), n = b.scalar("n", i64), rate = b.scalar("rate", f32);
  const Value i = b.program_id(0) * 64 + b.arange(0, 64), mask = i < n;
  b.store(p + i, b.load(p + i, mask) - b.load(g + i, mask) * (rate * 2), mask);
  const auto kernel = compile_program(b.finish());
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<std::vector<float>> values, gradients;
    std::vector<std::array<runtime::Argument, 4>> arguments;
    std::vector<runtime::ArgumentSet> sets;
    for (const std::size_t size : {1u, 64u, 65u, 1000u, 3u, 200u}) values.emplace_back(size, 1.0f), gradients.emplace_back(size, 0.25f);
    for (std::size_t k = 0; k < values.size(); ++k) {
      arguments.push_back({runtime::Argument{.pointer = values[k].data()},
                           {.pointer = gradients[k].data()},
                           {.integer = static_cast<std::int64_t>(values[k].size())},
                           {.real = 0.5 * static_cast<double>(k)}});
    }
    for (std::size_t k = 0; k < values.size(); ++k)
      sets.push_back({arguments[k].data(), {static_cast<std::int64_t>(values[k].size() + 63) / 64, 1, 1}});
    kernel->launch(sets, {.threads = threads});
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (const float x : values[k]) EXPECT_EQ(x, 1.0f - 0.25f * static_cast<float>(k));
    }
  }
}

TEST(ExecutorLaunch, LaunchesMayRunAtTheSameTime) {
  Builder b("double");
  const Value x = b.pointer("x", f32, true), i = b.program_id(0) * 50 + b.arange(0, 50);
  b.store(x + i, unary(Word::Tanh, b.load(x + i)) * 0 + b.load(x + i) * 2);
  const auto kernel = compile_program(b.finish());
  std::vector<std::vector<float>> memory(4, std::vector<float>(5000, 1.0f));
  std::vector<std::thread> threads;
  for (auto& m : memory) {
    threads.emplace_back([&] {
      runtime::Argument argument{.pointer = m.data()};
      const runtime::ArgumentSet set{&argument, {100, 1, 1}};
      for (int round = 0; round < 20; ++round) kernel->launch({&set, 1}, {});
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& m : memory) {
    for (const float v : m) ASSERT_EQ(v, 1048576.0f);
  }
}

TEST(ExecutorLaunch, AFailedAssertIsReportedAndStopsItsInstance) {
  Builder b("check");
  const Value index = b.pointer("index", i64, false), out = b.pointer("out", f32, true), limit = b.scalar("limit", i64);
  const Value i = b.program_id(0) * 4 + b.arange(0, 4), k = b.load(index + i);
  b.check(k < limit, k, 42);
  b.store(out + k, b.full({4}, 1, f32));
  const auto kernel = compile_program(b.finish());
  for (const int threads : {1, 2}) {
    std::vector<std::int64_t> places{0, 1, 2, 3, 4, 5, 1000000000, 7};
    std::vector<float> memory(8, 0.0f);
    runtime::Argument arguments[3];
    arguments[0].pointer = places.data(), arguments[1].pointer = memory.data(), arguments[2].integer = 8;
    const runtime::ArgumentSet set{arguments, {2, 1, 1}};
    runtime::Failure failure;
    kernel->launch({&set, 1}, {.threads = threads, .failure = &failure});
    EXPECT_EQ(failure.id, 42);
    EXPECT_EQ(failure.value, 1000000000);
    EXPECT_EQ(memory[4], 0.0f);
    places[6] = 6;
    failure = {};
    kernel->launch({&set, 1}, {.threads = threads, .failure = &failure});
    EXPECT_EQ(failure.id, -1);
    EXPECT_EQ(memory[6], 1.0f);
  }
}

TEST(ExecutorLaunch, TheListingNamesTheSteps) {
  Builder b("relu");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), i = b.arange(0, 8), v = b.load(x + i);
  b.store(y + i, select(v > 0, v, number(0, v)));
  const std::string text = compile_program(b.finish())->listing();
  EXPECT_NE(text.find("select_gt"), std::string::npos) << text;
  EXPECT_NE(text.find("store"), std::string::npos) << text;
}

}  // namespace
}  // namespace tegula::host
