// Reductions along the middle axis of a dense (outer, length, inner) tile.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_reduce.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include <cmath>
#include <limits>

#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

template <class D, class V>
HWY_INLINE hn::Mask<D> is_nan(D, V v) {
  return hn::Not(hn::Eq(v, v));
}

// Each kind: the element that changes nothing, the combination of two vectors and of two elements.
template <class T>
struct Sum {
  static constexpr T start = 0;
  template <class V> static HWY_INLINE V join(V a, V b) { return hn::Add(a, b); }
  template <class D, class V> static HWY_INLINE T across(D d, V v) { return hn::GetLane(hn::SumOfLanes(d, v)); }
  static HWY_INLINE T join_one(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else return a + b;
  }
};
template <class T>
struct Product {
  static constexpr T start = 1;
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (std::is_same_v<T, std::int64_t>) {  // modulo 2^64 from 32-bit products
      const hn::DFromV<V> d;
      const hn::RebindToUnsigned<decltype(d)> du;
      const hn::Repartition<std::uint32_t, decltype(d)> dw;
      const auto high_a = hn::BitCast(dw, hn::ShiftRight<32>(hn::BitCast(du, a))),
                 high_b = hn::BitCast(dw, hn::ShiftRight<32>(hn::BitCast(du, b)));
      const auto low_a = hn::BitCast(dw, a), low_b = hn::BitCast(dw, b);
      const auto cross = hn::Add(hn::MulEven(low_a, high_b), hn::MulEven(high_a, low_b));
      return hn::BitCast(d, hn::Add(hn::MulEven(low_a, low_b), hn::ShiftLeft<32>(cross)));
    } else {
      return hn::Mul(a, b);
    }
  }
  static HWY_INLINE T join_one(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else return a * b;
  }
};
/// NaN wins: x86's Min and Max give b when either is NaN.
template <class T>
struct Least {
  static constexpr T start = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (std::is_floating_point_v<T>) return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));
    else return hn::Min(a, b);
  }
  template <class D, class V>
  static HWY_INLINE T across(D d, V v) {
    if (std::is_floating_point_v<T> && !hn::AllFalse(d, is_nan(d, v))) return std::numeric_limits<T>::quiet_NaN();
    return hn::GetLane(hn::MinOfLanes(d, v));
  }
  static HWY_INLINE T join_one(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct Greatest {
  static constexpr T start = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (std::is_floating_point_v<T>) return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
    else return hn::Max(a, b);
  }
  template <class D, class V>
  static HWY_INLINE T across(D d, V v) {
    if (std::is_floating_point_v<T> && !hn::AllFalse(d, is_nan(d, v))) return std::numeric_limits<T>::quiet_NaN();
    return hn::GetLane(hn::MaxOfLanes(d, v));
  }
  static HWY_INLINE T join_one(T a, T b) { return a > b || a != a ? a : b; }
};
struct Any {
  static constexpr std::uint8_t start = 0;
  template <class V> static HWY_INLINE V join(V a, V b) { return hn::Or(a, b); }
  static HWY_INLINE std::uint8_t join_one(std::uint8_t a, std::uint8_t b) { return a | b; }
};
struct All {
  static constexpr std::uint8_t start = 1;
  template <class V> static HWY_INLINE V join(V a, V b) { return hn::And(a, b); }
  static HWY_INLINE std::uint8_t join_one(std::uint8_t a, std::uint8_t b) { return a & b; }
};

template <class K, class T>
struct Reduce {
  using D = Lanes<T>;
  static constexpr std::int64_t N = static_cast<std::int64_t>(hn::MaxLanes(D()));

  /// All elements of a vector joined, in an order that does not depend on the data.
  static HWY_INLINE T across(hn::Vec<D> v) {
    if constexpr (requires { K::across(D(), v); }) return K::across(D(), v);
    alignas(64) T x[N];
    hn::Store(v, D(), x);
    for (std::int64_t half = N / 2; half > 0; half /= 2) {
      for (std::int64_t i = 0; i < half; ++i) x[i] = K::join_one(x[i], x[i + half]);
    }
    return x[0];
  }

  /// Elements behind the row count as the start value.
  static HWY_INLINE hn::Vec<D> load_rest(const T* x, std::int64_t n) {
    const D d;
    return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(n)), load_part(d, x, static_cast<std::size_t>(n)), hn::Set(d, K::start));
  }

  static HWY_INLINE T row(const T* x, std::int64_t count) {
    const D d;
    if (count < N) return across(load_rest(x, count));
    auto s0 = hn::LoadU(d, x);
    std::int64_t i = N;
    if (count >= 8 * N) {
      auto s1 = hn::LoadU(d, x + N), s2 = hn::LoadU(d, x + 2 * N), s3 = hn::LoadU(d, x + 3 * N);
      auto s4 = hn::LoadU(d, x + 4 * N), s5 = hn::LoadU(d, x + 5 * N), s6 = hn::LoadU(d, x + 6 * N), s7 = hn::LoadU(d, x + 7 * N);
      for (i = 8 * N; i + 8 * N <= count; i += 8 * N) {
        s0 = K::join(s0, hn::LoadU(d, x + i)), s1 = K::join(s1, hn::LoadU(d, x + i + N));
        s2 = K::join(s2, hn::LoadU(d, x + i + 2 * N)), s3 = K::join(s3, hn::LoadU(d, x + i + 3 * N));
        s4 = K::join(s4, hn::LoadU(d, x + i + 4 * N)), s5 = K::join(s5, hn::LoadU(d, x + i + 5 * N));
        s6 = K::join(s6, hn::LoadU(d, x + i + 6 * N)), s7 = K::join(s7, hn::LoadU(d, x + i + 7 * N));
      }
      s0 = K::join(K::join(K::join(s0, s4), K::join(s2, s6)), K::join(K::join(s1, s5), K::join(s3, s7)));
    }
    for (; i + N <= count; i += N) s0 = K::join(s0, hn::LoadU(d, x + i));
    if (i < count) s0 = K::join(s0, load_rest(x + i, count - i));
    return across(s0);
  }

  /// Columns of a (length, inner) block: kVectors of them are held in registers while the rows go by.
  template <int kVectors>
  static HWY_INLINE void columns(const T* x, std::int64_t length, std::int64_t inner, T* out) {
    const D d;
    hn::Vec<D> s0 = hn::LoadU(d, x), s1 = s0, s2 = s0, s3 = s0;
    if constexpr (kVectors == 4) s1 = hn::LoadU(d, x + N), s2 = hn::LoadU(d, x + 2 * N), s3 = hn::LoadU(d, x + 3 * N);
    for (std::int64_t r = 1; r < length; ++r) {
      x += inner;
      s0 = K::join(s0, hn::LoadU(d, x));
      if constexpr (kVectors == 4) {
        s1 = K::join(s1, hn::LoadU(d, x + N)), s2 = K::join(s2, hn::LoadU(d, x + 2 * N)), s3 = K::join(s3, hn::LoadU(d, x + 3 * N));
      }
    }
    hn::StoreU(s0, d, out);
    if constexpr (kVectors == 4) hn::StoreU(s1, d, out + N), hn::StoreU(s2, d, out + 2 * N), hn::StoreU(s3, d, out + 3 * N);
  }
  static HWY_INLINE void last_columns(const T* x, std::int64_t length, std::int64_t inner, T* out, std::int64_t n) {
    const D d;
    const auto part = static_cast<std::size_t>(n);
    auto s = load_part(d, x, part);
    for (std::int64_t r = 1; r < length; ++r) s = K::join(s, load_part(d, x + r * inner, part));
    store_part(s, d, out, part);
  }

  static const Step* run(const Step* at, Frame& frame) {
    const auto& step = *static_cast<const AcrossStep*>(at);
    const T* x = reinterpret_cast<const T*>(frame.slots[step.in].pointer);
    T* out = reinterpret_cast<T*>(frame.slots[step.out].pointer);
    const std::int64_t outer = frame.slots[step.outer].integer, length = step.length, inner = step.inner;
    if (step.strip >= 0) {
      const T part = row(x, frame.slots[step.count].integer);
      out[0] = frame.slots[step.strip].integer == 0 ? part : K::join_one(out[0], part);
      return following(step);
    }
    if (inner == 1) {
      for (std::int64_t o = 0; o < outer; ++o) out[o] = row(x + o * length, length);
      return following(step);
    }
    for (std::int64_t o = 0; o < outer; ++o, x += length * inner, out += inner) {
      std::int64_t i = 0;
      for (; i + 4 * N <= inner; i += 4 * N) columns<4>(x + i, length, inner, out + i);
      for (; i + N <= inner; i += N) columns<1>(x + i, length, inner, out + i);
      if (i < inner) last_columns(x + i, length, inner, out + i, inner - i);
    }
    return following(step);
  }
};

template <class T>
Run find(tile::Reduction kind) {
  switch (kind) {
    case tile::Reduction::Sum: return Reduce<Sum<T>, T>::run;
    case tile::Reduction::Prod: return Reduce<Product<T>, T>::run;
    case tile::Reduction::Min: return Reduce<Least<T>, T>::run;
    case tile::Reduction::Max: return Reduce<Greatest<T>, T>::run;
    default: return nullptr;
  }
}

Run find_reduce_here(tile::Reduction kind, DType dtype) {
  switch (dtype) {
    case f64: return find<double>(kind);
    case f32: return find<float>(kind);
    case i64: return find<std::int64_t>(kind);
    case i32: return find<std::int32_t>(kind);
    default: return kind == tile::Reduction::Any ? Reduce<Any, std::uint8_t>::run : Reduce<All, std::uint8_t>::run;
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_reduce_here);
Run find_reduce(tile::Reduction kind, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_reduce_here)(kind, dtype); }
}  // namespace tegula::host
#endif
