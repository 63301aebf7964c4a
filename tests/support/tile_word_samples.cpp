// Samples of atomic words, loops without a count, and words that pick elements.

#include "tests/support/atomic_programs.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {

using namespace tegula::tile;
using host::TestArgument;

namespace {

TestArgument counted(DType dtype, std::size_t count) {
  return TestArgument::filled(dtype, count, [](std::size_t i) { return static_cast<double>(i * i % 7); });
}

/// Elements that meet change in order; of what the hardware changes none of a tile do.
Sample atomics(const char* name, DType dtype, Sem sem) {
  return {name,
          test::every_atomic(dtype, is_changed_freely(dtype) ? 16 : 7, sem),
          {counted(dtype, 64), counted(dtype, 256), TestArgument::empty(dtype, 16 * 128), TestArgument::scalar(60)},
          {.grids = {{4, 1, 1}}}};
}

/// Each instance waits for a lock, changes what it guards, and gives it back.
Sample lock() {
  return {"lock",
          test::locked_sums(),
          {TestArgument::filled(i32, 1, [](std::size_t) { return 0.0; }), counted(f32, 40)},
          {.grids = {{5, 1, 1}}}};
}

Sample loop_while() {
  return {"while",
          test::collatz(),
          {TestArgument::filled(i64, 6, [](std::size_t k) { return 1.0 + static_cast<double>(k * 5); }), TestArgument::empty(i64, 6 * 24),
           TestArgument::empty(f32, 6 * 24)},
          {.grids = {{6, 1, 1}}}};
}

Sample picks() {
  Builder b("picks");
  const Value x = b.pointer("x", i32, false), out = b.pointer("out", i32, true), bins = b.pointer("bins", i32, true),
              lane = b.arange(0, 300);
  const Value v = b.load(x + lane), own = b.program_id(0);
  b.store(out + (own * 300 + lane), gather(v, lane * 7 % 310 - 5, 0));
  b.store(bins + (own * 20 + b.arange(0, 20)), histogram(v + cast(lane % 16, i32), 20, lane % 3 != own));
  return {"picks", b.finish(), {counted(i32, 300), TestArgument::empty(i32, 600), TestArgument::empty(i32, 40)}, {.grids = {{2, 1, 1}}}};
}

/// Rows that wrap at the end, as Triton's matmul has them, with hints, evictions and an assumption.
Sample hints() {
  Builder b("hints");
  const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64), lane = b.arange(0, 128);
  b.assume(n % 128 == 0);
  const Value places = hint(hint((b.program_id(0) * 128 + lane) % n, HintKind::MultipleOf, 128), HintKind::Contiguous, 128);
  b.store({.eviction_policy = Eviction::First}, out + (b.program_id(0) * 128 + lane),
          b.load({.cache_modifier = Cache::Cg, .eviction_policy = Eviction::Last}, x + places) + b.load({.is_volatile = true}, x + lane));
  return {"hints", b.finish(), {counted(f32, 256), TestArgument::empty(f32, 384), TestArgument::scalar(256)}, {.grids = {{3, 1, 1}}}};
}

}  // namespace

std::vector<Sample> word_samples() {
  return {atomics("atomics_f32", f32, Sem::AcqRel), atomics("atomics_f16", f16, Sem::Relaxed), lock(), loop_while(), picks(), hints()};
}

}  // namespace tegula::gpu
