// Dot of two tiles, and Philox.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_dot.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include "tegula/core/philox.h"
#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

template <class T>
struct Dot {
  using D = Lanes<T>;
  static constexpr std::int64_t N = static_cast<std::int64_t>(hn::MaxLanes(D()));
  static constexpr int kRows = 4;  // with two vectors a row, eight sums are in flight

  static HWY_INLINE hn::Vec<D> multiply_add(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> sum) {
    if constexpr (std::is_integral_v<T>) return hn::Add(hn::Mul(x, y), sum);
    else return hn::MulAdd(x, y, sum);
  }

  /// kRows x (2 or 1 vectors, or part of one) of the result.
  template <int kHeight, int kWidth>
  static HWY_INLINE void block(const DotStep& step, const T* a, const T* b, const T* c, T* out, std::int64_t part) {
    const D d;
    const auto n = static_cast<std::size_t>(part);
    const std::int64_t columns = step.columns;
    hn::Vec<D> s0[kHeight], s1[kHeight];
    for (int r = 0; r < kHeight; ++r) {
      s0[r] = part < N ? load_part(d, c + r * columns, n) : hn::LoadU(d, c + r * columns);
      if constexpr (kWidth == 2) s1[r] = hn::LoadU(d, c + r * columns + N);
    }
    for (std::int64_t k = 0; k < step.inner; ++k) {
      const T* row = b + k * columns;
      const auto b0 = part < N ? load_part(d, row, n) : hn::LoadU(d, row);
      const auto b1 = kWidth == 2 ? hn::LoadU(d, row + (kWidth - 1) * N) : b0;
      for (int r = 0; r < kHeight; ++r) {
        const auto x = hn::Set(d, a[r * step.inner + k]);
        s0[r] = multiply_add(x, b0, s0[r]);
        if constexpr (kWidth == 2) s1[r] = multiply_add(x, b1, s1[r]);
      }
    }
    for (int r = 0; r < kHeight; ++r) {
      if (part < N) store_part(s0[r], d, out + r * columns, n);
      else hn::StoreU(s0[r], d, out + r * columns);
      if constexpr (kWidth == 2) hn::StoreU(s1[r], d, out + r * columns + N);
    }
  }

  template <int kHeight>
  static HWY_INLINE void rows(const DotStep& step, const T* a, const T* b, const T* c, T* out) {
    std::int64_t j = 0;
    for (; j + 2 * N <= step.columns; j += 2 * N) block<kHeight, 2>(step, a, b + j, c + j, out + j, N);
    for (; j < step.columns; j += N) block<kHeight, 1>(step, a, b + j, c + j, out + j, step.columns - j < N ? step.columns - j : N);
  }

  static const Step* run(const Step* at, Frame& frame) {
    const auto& step = *static_cast<const DotStep*>(at);
    const T* a = reinterpret_cast<const T*>(frame.slots[step.a].pointer);
    const T* b = reinterpret_cast<const T*>(frame.slots[step.b].pointer);
    const T* c = reinterpret_cast<const T*>(frame.slots[step.accumulator].pointer);
    T* out = reinterpret_cast<T*>(frame.slots[step.out].pointer);
    for (std::int64_t left = step.products; left > 0; --left) {
      std::int64_t i = 0;
      for (; i + kRows <= step.rows; i += kRows) rows<kRows>(step, a + i * step.inner, b, c + i * step.columns, out + i * step.columns);
      for (; i < step.rows; ++i) rows<1>(step, a + i * step.inner, b, c + i * step.columns, out + i * step.columns);
      a += step.rows * step.inner, b += step.inner * step.columns, c += step.rows * step.columns, out += step.rows * step.columns;
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
