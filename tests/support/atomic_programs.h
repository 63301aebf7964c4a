#pragma once
// Programs of atomic words and loops without a count, for every way of running them.

#include <utility>
#include <vector>

#include "tegula/tile/builder.h"

namespace tegula::test {

/// Every atomic word that the dtype takes, on tiles and scalars, with masks, old values kept in `olds`. `places`: that a tile's elements go to; where there are
/// 16 no two of a tile meet.
inline tile::Program every_atomic(DType dtype, std::int64_t places, tile::Sem sem = tile::Sem::Relaxed) {
  using namespace tile;
  Builder b("atomics");
  const Value in = b.pointer("in", dtype, false), out = b.pointer("out", dtype, true), olds = b.pointer("olds", dtype, true),
              n = b.scalar("n", i64);
  const Value lane = b.arange(0, 16), i = b.program_id(0) * 16 + lane, mask = i < n, x = b.load(in + i, mask);
  const DType computed = compute_type(dtype);
  std::vector<Value> before;
  for (const AtomicKind kind : {AtomicKind::Add, AtomicKind::Max, AtomicKind::Min, AtomicKind::Exchange, AtomicKind::And, AtomicKind::Or,
                                AtomicKind::Xor, AtomicKind::CompareAndSwap}) {
    const bool swaps = kind == AtomicKind::CompareAndSwap;
    if (is_float(dtype) && (swaps || (kind >= AtomicKind::And && kind <= AtomicKind::Xor))) continue;
    const Atomic what{kind, sem, sem == Sem::Relaxed ? Scope::Gpu : Scope::Sys};
    const auto first = static_cast<std::int64_t>(before.size()) * 16;
    before.push_back(b.atomic(what, out + (lane * 5 % places + first), x, mask, swaps ? x - x / 2 : Value()));
    before.push_back(b.atomic(what, out + first, b.constant(std::int64_t{3}, computed), b.program_id(0) != 1,
                              swaps ? b.constant(std::int64_t{2}, computed) : Value()));
    b.atomic(what, out + (first + 1), cast(b.program_id(0), computed), {}, swaps ? b.constant(std::int64_t{1}, computed) : Value());
  }
  for (std::size_t k = 0; k < before.size(); ++k) b.store(olds + (static_cast<std::int64_t>(k) * 128 + i), before[k]);
  return b.finish();
}

/// Steps of 3n + 1 down to 1 from `in`[instance], with a tile, a pointer and a loop carried through.
inline tile::Program collatz() {
  using namespace tile;
  Builder b("collatz");
  const Value in = b.pointer("in", i64, false), out = b.pointer("out", i64, true), sums = b.pointer("sums", f32, true);
  const Value n = b.load(in + b.program_id(0)), lane = b.arange(0, 24), zero = b.constant(std::int64_t{0}, i64),
              one = b.constant(std::int64_t{1}, i64);
  const auto last = b.while_(n != 1, {n, zero, b.full({24}, 0, f32), out + lane}, [&](std::span<const Value> c) {
    const Value next = select(c[0] % 2 == 0, c[0] / 2, c[0] * 3 + 1);
    const Value within = b.for_(zero, c[0] % 4, one, {c[2]},
                                [&](Value k, std::span<const Value> now) { return std::vector<Value>{now[0] + cast(k + lane, f32)}; })[0];
    return Builder::Next{next != 1, {next, c[1] + 1, within, c[3] + 24}};
  });
  b.store(last[3] - last[1] * 24 + b.program_id(0) * 24, last[1] + lane);
  b.store(sums + (b.program_id(0) * 24 + lane), last[2]);
  return b.finish();
}

/// Each instance waits for a lock, changes what it guards, and gives it back.
inline tile::Program locked_sums() {
  using namespace tile;
  Builder b("locked");
  const Value lock = b.pointer("lock", i32, true), sums = b.pointer("sums", f32, true), lane = b.arange(0, 40);
  const Value zero = b.constant(std::int64_t{0}, i32), one = b.constant(std::int64_t{1}, i32);
  const auto ask = [&] { return b.atomic({AtomicKind::CompareAndSwap, Sem::AcqRel}, lock, one, {}, zero) == 1; };
  b.while_(ask(), {}, [&](std::span<const Value>) { return Builder::Next{ask(), {}}; });
  b.store(sums + lane, b.load(sums + lane) + cast(lane, f32));
  b.atomic({AtomicKind::Exchange, Sem::AcqRel}, lock, zero);
  return b.finish();
}

}  // namespace tegula::test
