// Dot of two tiles, and Philox.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_dot.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include <algorithm>

#include "tegula/core/philox.h"
#include "tegula/cpu/simd/unroll.h"
#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

/// The result is made in blocks of kRows x two vectors, whose sums stay in registers while the inner axis passes: of each element they are added in its order.
template <class T>
struct Dot {
  using D = Lanes<T>;
  static constexpr std::int64_t N = static_cast<std::int64_t>(hn::MaxLanes(D()));
  // Sums that there is room for in 32 registers, or in 16.
  static constexpr int kRows = HWY_MAX_BYTES == 64 ? 8 : 6;

  static HWY_INLINE hn::Vec<D> multiply_add(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> sum) {
    if constexpr (std::is_integral_v<T>) return hn::Add(hn::Mul(x, y), sum);
    else return hn::MulAdd(x, y, sum);
  }

  struct Operands {
    const T *a, *b, *c;
    T* out;
    std::int64_t inner, row;  // elements between rows of a, and of the others
    std::int64_t columns;  // that are left
  };

  /// A block of kHeight rows and kVectors vectors, or with kVectors = 0 of part of one.
  template <int kHeight, int kVectors>
  static HWY_INLINE void block(const Operands& o) {
    const D d;
    const auto load = [&](const T* from) {
      if constexpr (kVectors == 0) return load_part(d, from, static_cast<std::size_t>(o.columns));
      else return hn::LoadU(d, from);
    };
    hn::Vec<D> first[kHeight], second[kHeight];
    TEGULA_UNROLL
    for (int r = 0; r < kHeight; ++r) {
      first[r] = load(o.c + r * o.row);
      if constexpr (kVectors == 2) second[r] = load(o.c + r * o.row + N);
    }
    for (std::int64_t k = 0; k < o.inner; ++k) {
      const auto b0 = load(o.b + k * o.row);
      const auto b1 = kVectors == 2 ? hn::LoadU(d, o.b + k * o.row + N) : b0;
      TEGULA_UNROLL
      for (int r = 0; r < kHeight; ++r) {
        const auto x = hn::Set(d, o.a[r * o.inner + k]);
        first[r] = multiply_add(x, b0, first[r]);
        if constexpr (kVectors == 2) second[r] = multiply_add(x, b1, second[r]);
      }
    }
    TEGULA_UNROLL
    for (int r = 0; r < kHeight; ++r) {
      T* const to = o.out + r * o.row;
      if constexpr (kVectors == 0) store_part(first[r], d, to, static_cast<std::size_t>(o.columns));
      else hn::StoreU(first[r], d, to);
      if constexpr (kVectors == 2) hn::StoreU(second[r], d, to + N);
    }
  }

  template <int kHeight, int kVectors>
  static HWY_INLINE void blocks(Operands& o, std::int64_t& rows) {
    for (; rows >= kHeight; rows -= kHeight) {
      block<kHeight, kVectors>(o);
      o.a += kHeight * o.inner, o.c += kHeight * o.row, o.out += kHeight * o.row;
    }
  }
  /// All rows of some columns.
  template <int kVectors>
  static HWY_INLINE void down(Operands o, std::int64_t rows) {
    blocks<kRows, kVectors>(o, rows);
    blocks<kRows / 2, kVectors>(o, rows);
    blocks<1, kVectors>(o, rows);
  }

  static void product(const DotStep& step, Operands o) {
    const auto advance = [&](std::int64_t columns) { o.b += columns, o.c += columns, o.out += columns, o.columns -= columns; };
    for (; o.columns >= 2 * N; advance(2 * N)) down<2>(o, step.rows);
    if (o.columns >= N) down<1>(o, step.rows), advance(N);
    if (o.columns > 0) down<0>(o, step.rows);
  }

  static const Step* run(const Step* at, Frame& frame) {
    const auto& step = *static_cast<const DotStep*>(at);
    const auto pointer = [&](std::int32_t slot) { return reinterpret_cast<T*>(frame.slots[slot].pointer); };
    Operands o{.a = pointer(step.a),
               .b = pointer(step.b),
               .c = pointer(step.accumulator),
               .out = pointer(step.out),
               .inner = step.inner,
               .row = step.columns,
               .columns = step.columns};
    for (std::int64_t left = step.products; left > 0; --left) {
      product(step, o);
      o.a += step.rows * step.inner, o.b += step.inner * step.columns, o.c += step.rows * step.columns, o.out += step.rows * step.columns;
    }
    return following(step);
  }
};

Run find_dot_here(DType dtype) {
  switch (dtype) {
    case f64: return Dot<double>::run;
    case f32: return Dot<float>::run;
    default: return Dot<std::int32_t>::run;  // modulo 2^32: of u32, too
  }
}

/// Philox 4x32-10 of as many blocks as there are 64-bit lanes: the words sit in the lower halves.
HWY_INLINE void philox_blocks(std::uint64_t seed, std::uint64_t block, std::uint32_t* out) {
  const Lanes<std::uint64_t> d;
  const Lanes<std::uint32_t> dw;
  constexpr std::size_t N = hn::MaxLanes(d);
  const auto low = hn::Set(d, 0xffffffffu);
  const auto counter = hn::Iota(d, block);
  auto c0 = hn::And(counter, low), c1 = hn::ShiftRight<32>(counter), c2 = hn::Zero(d), c3 = hn::Zero(d);
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  const auto m0 = hn::BitCast(dw, hn::Set(d, 0xD2511F53u)), m1 = hn::BitCast(dw, hn::Set(d, 0xCD9E8D57u));
  for (int round = 0; round < 10; ++round) {
    const auto a = hn::MulEven(m0, hn::BitCast(dw, c0)), b = hn::MulEven(m1, hn::BitCast(dw, c2));
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, key0));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, key1));
    c1 = hn::And(b, low), c3 = hn::And(a, low);
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  // Lane i holds words 4i … 4i+3 of the output: pairs first, then both pairs of a block side by side.
  alignas(64) std::uint64_t pairs[2][N];
  hn::Store(hn::Or(c0, hn::ShiftLeft<32>(c1)), d, pairs[0]);
  hn::Store(hn::Or(c2, hn::ShiftLeft<32>(c3)), d, pairs[1]);
  for (std::size_t i = 0; i < N; ++i) {
    std::memcpy(out + 4 * i, &pairs[0][i], 8);
    std::memcpy(out + 4 * i + 2, &pairs[1][i], 8);
  }
}

const Step* random(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const RandomStep*>(at);
  const auto seed = static_cast<std::uint64_t>(frame.slots[step.seed].integer);
  auto* out = reinterpret_cast<std::uint32_t*>(frame.slots[step.out].pointer);
  if (!step.consecutive) {
    const auto* index = reinterpret_cast<const std::uint64_t*>(frame.slots[step.index].pointer);
    for (std::int64_t i = 0; i < step.count; ++i) out[i] = philox_word(seed, index[i]);
    return following(step);
  }
  constexpr std::int64_t kWords = 4 * static_cast<std::int64_t>(hn::MaxLanes(Lanes<std::uint64_t>()));
  const auto first = static_cast<std::uint64_t>(frame.slots[step.index].integer);
  std::int64_t i = 0;
  for (; i < step.count && (first + static_cast<std::uint64_t>(i)) % 4 != 0; ++i)
    out[i] = philox_word(seed, first + static_cast<std::uint64_t>(i));
  for (; i + kWords <= step.count; i += kWords) philox_blocks(seed, (first + static_cast<std::uint64_t>(i)) / 4, out + i);
  if (i < step.count) {
    alignas(64) std::uint32_t rest[kWords];
    philox_blocks(seed, (first + static_cast<std::uint64_t>(i)) / 4, rest);
    std::memcpy(out + i, rest, static_cast<std::size_t>(step.count - i) * 4);
  }
  return following(step);
}

Run find_random_here() { return random; }

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_dot_here);
HWY_EXPORT(find_random_here);
Run find_dot(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_dot_here)(dtype); }
Run find_random() { return HWY_DYNAMIC_DISPATCH(find_random_here)(); }
}  // namespace tegula::host
#endif
