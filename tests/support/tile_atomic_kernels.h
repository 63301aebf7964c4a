#pragma once
// Atomic words over tensors of any dtype.

#include "tegula/ops/tile_jit.h"

namespace atomics {
using namespace tegula::tile;

/// Each word changes four elements that all instances share, but the last where the mask is false; what was there before goes to `olds`, a part of each instance.
inline const auto numbers = jit("numbers", [](Ptr<Any> x, Out<Any> y, Out<Any> olds) {
  auto i = arange(0, 4);
  auto v = load(x + i);
  auto mask = i < 3;
  auto o = olds + program_id(0) * 16 + i;
  store(o, atomic_add(y + i, v, mask));
  store(o + 4, atomic_max(y + 4 + i, v, mask, {.scope = Scope::Sys}));
  store(o + 8, atomic_min(y + 8 + i, v, mask, {.sem = Sem::Relaxed}));
  store(o + 12, atomic_xchg(y + 12 + i, v, mask, {.sem = Sem::Acquire}));
});
/// The same of words on integers alone. The last has no mask.
inline const auto bits = jit("bits", [](Ptr<Any> x, Out<Any> y, Out<Any> olds) {
  auto i = arange(0, 4);
  auto v = load(x + i);
  auto mask = i < 3;
  auto o = olds + program_id(0) * 16 + i;
  store(o, atomic_and(y + i, v, mask));
  store(o + 4, atomic_or(y + 4 + i, v, mask, {.sem = Sem::Release}));
  store(o + 8, atomic_xor(y + 8 + i, v, mask, {.scope = Scope::Cta}));
  store(o + 12, atomic_cas(y + 12 + i, 6, v));
});

}  // namespace atomics
