// Sums by atomics, where the order of floats makes blocks go over the same instances.

#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using tile::Builder, tile::Value;

TestArgument some(DType dtype, std::size_t count) {
  return TestArgument::filled(dtype, count, [](std::size_t k) { return static_cast<double>(k * k % 7); });
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

}  // namespace
}  // namespace tegula::gpu
