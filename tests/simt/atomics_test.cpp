// Atomic words and loops without a count as CUDA text, on emulated threads, beside the interpreter.

#include <string>

#include "tegula/simt/codegen.h"
#include "tests/support/atomic_programs.h"
#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using tile::AtomicKind, tile::Builder, tile::Value;

TestArgument some(DType dtype, std::size_t count) {
  return TestArgument::filled(dtype, count, [&](std::size_t k) { return static_cast<double>(k * k % 7) - (is_unsigned(dtype) ? 0 : 3); });
}

TEST(Atomics, GiveWhatWasThereBefore) {
  for (const DType dtype : {f64, f32, f16, bf16, i64, u64, i32, u32, i16, u16, i8, u8}) {
    const bool free = tile::is_changed_freely(dtype);  // elements of a tile that meet come in any order
    for (const tile::Sem sem : {tile::Sem::Relaxed, tile::Sem::AcqRel})
      EXPECT_TRUE(emulation_agrees(test::every_atomic(dtype, free ? 16 : 7, sem),
                                   {some(dtype, 112), some(dtype, 256), TestArgument::empty(dtype, 16 * 128), TestArgument::scalar(100)},
                                   {.grids = {{7, 1, 1}}}))
          << name(dtype);
  }
}

TEST(Atomics, IntegersAreAddedOnceBesideSumsInOrder) {
  for (const DType whole : {i32, i64, u32, u64}) {
    Builder b("both");
    const Value counts = b.pointer("counts", whole, true), sums = b.pointer("sums", f32, true), lane = b.arange(0, 40);
    b.atomic_add(counts + lane % 3, b.constant(std::int64_t{1}, whole));
    b.atomic_add(sums + lane % 5, cast(lane, f32), lane < 37);
    EXPECT_TRUE(emulation_agrees(b.finish(), {some(whole, 3), some(f32, 5)}, {.grids = {{6, 1, 1}}})) << name(whole);
  }
}

std::string text_of(tile::Program program) {
  const auto sets = std::vector<runtime::Argument>(program.parameters.size());
  return generate(program, specialise(program, std::vector{runtime::ArgumentSet{sets.data(), {4, 1, 1}}}), 90).source;
}

TEST(Atomics, OrderCostsOnlyWhereAnotherInstanceCanTell) {
  const auto program = [](bool takes, tile::Sem sem) {
    Builder b("order");
    const Value out = b.pointer("out", i32, true), olds = b.pointer("olds", i32, true), lane = b.arange(0, 32);
    const Value old = b.atomic({AtomicKind::Add, sem, tile::Scope::Gpu}, out + lane, cast(lane, i32));
    if (takes) b.store(olds + lane, old);
    return b.finish();
  };
  EXPECT_EQ(text_of(program(false, tile::Sem::AcqRel)).find("__threadfence"), std::string::npos);
  EXPECT_EQ(text_of(program(true, tile::Sem::Relaxed)).find("__threadfence"), std::string::npos);
  const std::string both = text_of(program(true, tile::Sem::AcqRel));
  EXPECT_LT(both.find("__threadfence()"), both.find("atomicAdd("));
  EXPECT_GT(both.rfind("__threadfence()"), both.find("atomicAdd("));
}

TEST(Atomics, ScopesHaveTheirOwnWords) {
  for (const auto& [scope, word] :
       {std::pair{tile::Scope::Cta, "atomicMax_block("}, {tile::Scope::Gpu, "atomicMax("}, {tile::Scope::Sys, "atomicMax_system("}}) {
    Builder b("scopes");
    const Value out = b.pointer("out", i64, true), lane = b.arange(0, 32);
    b.atomic({AtomicKind::Max, tile::Sem::Relaxed, scope}, out + lane, lane);
    EXPECT_NE(text_of(b.finish()).find(word), std::string::npos) << word;
  }
}

TEST(While, CarriesTheSameValues) {
  const auto from = TestArgument::filled(i64, 6, [](std::size_t k) { return 1.0 + static_cast<double>(k * 5); });
  EXPECT_TRUE(emulation_agrees(test::collatz(), {from, TestArgument::empty(i64, 6 * 24), TestArgument::empty(f32, 6 * 24)},
                               {.grids = {{6, 1, 1}}}));
}

TEST(While, WaitsForALock) {
  EXPECT_TRUE(emulation_agrees(test::locked_sums(), {TestArgument::filled(i32, 1, [](std::size_t) { return 0.0; }), some(f32, 40)},
                               {.grids = {{5, 1, 1}}}));
}

TEST(While, ThreadsThatReadWhatOthersWriteAgreeOnTheFirstOnesAnswer) {
  Builder b("flag");
  const Value flag = b.pointer("flag", i32, true), out = b.pointer("out", i32, true), lane = b.arange(0, 64);
  const auto last = b.while_(b.load(flag) != 0, {b.full({64}, 0, i32)}, [&](std::span<const Value> c) {
    b.atomic_add(flag, b.constant(std::int64_t{-1}, i32));
    return Builder::Next{b.load(flag) != 0, {c[0] + 1}};
  });
  b.store(out + lane, last[0]);
  const tile::Program program = b.finish();
  EXPECT_NE(text_of(program).find("agreed"), std::string::npos);
  EXPECT_TRUE(emulation_agrees(program, {TestArgument::filled(i32, 1, [](std::size_t) { return 3.0; }), TestArgument::empty(i32, 64)}));
}

}  // namespace
}  // namespace tegula::gpu
