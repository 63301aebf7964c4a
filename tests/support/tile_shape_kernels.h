#pragma once
// Kernels in the tile language that move elements, reduce and scan by functions, and end loops by conditions.

#include <cstdint>
#include <utility>
#include <vector>

#include "tegula/ops/tile_jit.h"

namespace moving {
using namespace tegula::tile;

inline Tile at(const tegula::Shape& shape) { return reshape(arange(0, tegula::numel(shape)), shape); }

const auto axes = jit("axes", [](Ptr<float> x, Out<float> a, Out<float> b, Out<float> c, Out<float> d) {
  auto v = load(x + at({2, 3, 5}));
  store(a + at({5, 2, 3}), permute(v, {2, 0, 1}));
  store(b + at({2, 5, 3}), permute(v, {0, 2, 1}));
  store(c + at({2, 3, 5}), flip(v, -1));
  store(d + at({2, 2, 5}), slice(v, 1, 1, 2));
});

const auto halves = jit("halves", [](Ptr<std::int32_t> x, Ptr<std::int32_t> y, Out<std::int32_t> joined, Out<std::int32_t> woven,
                                     Out<std::int32_t> both, Out<std::int32_t> first, Out<std::int32_t> second) {
  auto a = load(x + at({4})), b = load(y + at({4}));
  store(joined + at({4, 2}), join(a, b));
  store(woven + at({8}), interleave(a, b));
  store(both + at({8}), cat(a, b));
  auto [left, right] = split(join(a, b));
  store(first + at({4}), left);
  store(second + at({4}), right);
});

const auto special = jit("special", [](Ptr<float> x, Out<float> y) {
  auto v = load(x + at({6}));
  store(y + at({6}), gather(v, 5 - arange(0, 6), 0));
});

const auto functions = jit("functions", [](Ptr<float> x, Out<float> product, Out<float> last, Out<float> scanned, Out<float> backward,
                                           Out<float> top, Out<std::int64_t> where_top) {
  auto v = load(x + at({3, 7}));
  const auto times = [](Tile a, Tile b) { return a * b; };
  store(product + at({3}), reduce(v, 1, times));
  store(last + at({3}), reduce(v, 1, [](Tile, Tile b) { return b; }));  // associative, not commutative
  store(scanned + at({3, 7}), associative_scan(v, 1, times));
  store(backward + at({3, 7}), associative_scan(v, 1, times, Direction::Reverse));
  auto place = broadcast_to(row(arange(0, 7)), {3, 7});
  std::vector<Tile> two;
  two.push_back(v);
  two.push_back(place);
  const auto best = reduce(two, 1, [](const std::vector<Tile>& a, const std::vector<Tile>& b) {
    auto first = a[0] >= b[0];
    return std::vector<Tile>{where(first, a[0], b[0]), where(first, a[1], b[1])};
  });
  store(top + at({3}), best[0]);
  store(where_top + at({3}), best[1]);
});

const auto counts = jit("counts", [](Ptr<std::int32_t> x, Out<std::int32_t> bins, Out<std::int32_t> some, Out<std::int32_t> largest) {
  auto v = load(x + at({50}));
  store(bins + at({8}), histogram(v, 8));
  store(some + at({8}), histogram(v, 8, v % 2 == 0));
  store(largest + at({4}), topk(v, 4));
});

const auto collatz = jit("collatz", [](Out<std::int64_t> steps, Int n, Const<int> most) {
  Tile c = n + 0, count = 0;
  while_([&] { return c != 1; },
         [&] {
           if_(c % 2 == 0, [&] { c = c / 2; }, [&] { c = c * 3 + 1; });
           count += 1;
         },
         most);
  store(steps, count);
});
const auto endless = jit("endless", [](Out<std::int64_t> steps, Out<std::int64_t> top, Int n) {
  Tile c = n + 0, count = 0, largest = n + 0;
  while_([&] { return c != 1; },
         [&] {
           if_(c % 2 == 0, [&] { c = c / 2; }, [&] { c = c * 3 + 1; });
           largest = maximum(largest, c);
           count += 1;
         });
  store(steps, count);
  store(top, largest);
});
// A word changes each of eight elements; what was there before goes to `olds`.
const auto every_atomic = jit("every_atomic", [](Ptr<std::int32_t> x, Out<std::int32_t> y, Out<std::int32_t> olds) {
  auto i = arange(0, 4);
  auto v = load(x + i);
  auto mask = i < 3;
  store(olds + i, atomic_add(y + i, v, mask));
  store(olds + 4 + i, atomic_max(y + 4 + i, v, mask));
  store(olds + 8 + i, atomic_min(y + 8 + i, v, mask, {.sem = Sem::Relaxed}));
  store(olds + 12 + i, atomic_and(y + 12 + i, v, mask));
  store(olds + 16 + i, atomic_or(y + 16 + i, v, mask));
  store(olds + 20 + i, atomic_xor(y + 20 + i, v, mask));
  store(olds + 24 + i, atomic_xchg(y + 24 + i, v, mask));
  store(olds + 28 + i, atomic_cas(y + 28 + i, 6, v, {.scope = Scope::Sys}));
});
const auto by_assembly = jit("by_assembly", [](Ptr<float> x, Out<float> y) {
  auto i = arange(0, 8);
  store(y + i, inline_asm_elementwise<float>("fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", {load(x + i), cast<float>(i)},
                                             [](const std::vector<double>& a) { return a[0] * a[1] + a[0]; }));
});
// Several elements at a time, and several results.
const auto packed =
    jit("packed", [](Ptr<std::uint8_t> x, Ptr<tegula::Half> h, Out<std::uint8_t> flipped, Out<float> wide, Out<tegula::Half> sum,
                     Out<tegula::BFloat16> twice, Out<std::int16_t> less, Out<std::int32_t> plus, Out<std::int32_t> minus) {
      auto i = reshape(arange(0, 64), {2, 32});
      auto v = load(x + i), a = load(h + i);
      store(flipped + i,
            inline_asm_elementwise<std::uint8_t>("not.b32 $0, $1;", "=r,r", {v}, [](const auto& n) { return 255 - n[0]; }, {.pack = 4}));
      store(wide + i,
            inline_asm_elementwise<float>("{ .reg .u8 t<4>; mov.b32 {t0, t1, t2, t3}, $4; cvt.rn.f32.u8 $0, t0; cvt.rn.f32.u8 $1, t1; "
                                          "cvt.rn.f32.u8 $2, t2; cvt.rn.f32.u8 $3, t3; }",
                                          "=f,=f,=f,=f,r", {v}, [](const auto& n) { return n[0]; }, {.pack = 4}));
      store(sum + i, inline_asm_elementwise<tegula::Half>("add.f16x2 $0, $1, $2;", "=r,r,r", {a, a},
                                                          [](const auto& n) { return n[0] + n[1]; }, {.pack = 2}));
      store(twice + i, inline_asm_elementwise<tegula::BFloat16>("fma.rn.bf16x2 $0, $1, $2, $1;", "=r,r,r",
                                                                {cast<tegula::BFloat16>(a), full<tegula::BFloat16>({1, 1}, 1)},
                                                                [](const auto& n) { return n[0] * n[1] + n[0]; }, {.pack = 2}));
      store(less + i, inline_asm_elementwise<std::int16_t>("xor.b32 $0, $1, -1;", "=r,r", {cast<std::int16_t>(v)},
                                                           [](const auto& n) { return -1 - n[0]; }, {.pack = 2}));
      auto [p, m] = inline_asm_elementwise<std::int32_t, std::int32_t>(
          "add.s32 $0, $2, $3; sub.s32 $1, $2, $3;", "=r,=r,r,r", {cast<std::int32_t>(v), cast<std::int32_t>(i)},
          [](const auto& n) { return std::vector<double>{n[0] + n[1], n[0] - n[1]}; });
      store(plus + i, p);
      store(minus + i, m);
    });
const auto printed = jit("printed", [](Ptr<float> x, Out<float> y) {
  auto i = arange(0, 40);
  auto v = load(x + i);
  device_print("100% x", v);
  debug_barrier();
  store(y + program_id(0) * 40 + i, v);
});
const auto blocks = jit("blocks", [](Ptr<float> x, Out<float> y, Out<float> sums, Int M, Int N, Const<int> B) {
  auto in = make_tensor_descriptor(x, {M, N}, {N, 1}, {B, B}), to = make_tensor_descriptor(y, {N, M}, {M, 1}, {B, B});
  auto total = make_tensor_descriptor(sums, {1, N}, {N, 1}, {1, B});
  auto m = program_id(0) * B;
  for (auto n : range(0, N, B)) {
    auto v = in.load({m, n});
    to.store({n, m}, trans(v));
    total.atomic_add({0, n}, sum(v, 0, Axis::Keep));
  }
});
const auto products = jit("products", [](Ptr<float> x, Ptr<float> y, Out<float> z) {
  store(z + at({3, 2, 5}), batched_dot(load(x + at({3, 2, 4})), load(y + at({3, 4, 5}))));
});
}  // namespace moving
