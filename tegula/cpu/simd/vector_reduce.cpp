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
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {  // modulo 2^64 from 32-bit products
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

  // Sums of floats over more than a few elements: eight vectors are added as a tree (in rows 32), such sums in f64. A tree has as many additions as
  // sums side by side, so nothing is paid but a conversion for each of them; and the error does not grow with the length.
  static constexpr bool kSumsFloats = std::is_same_v<K, Sum<float>>;
  static constexpr std::int64_t kLongRow = 64 * N, kLongColumn = 16;
  using DD = Lanes<double>;

  template <class Load>
  static HWY_INLINE hn::Vec<D> tree(std::int64_t first, Load load) {
    const auto half = hn::Add(hn::Add(load(first), load(first + 1)), hn::Add(load(first + 2), load(first + 3)));
    return hn::Add(half, hn::Add(hn::Add(load(first + 4), load(first + 5)), hn::Add(load(first + 6), load(first + 7))));
  }
  static HWY_INLINE void add_one(hn::Vec<DD>& low, hn::Vec<DD>& high, hn::Vec<D> s) {
    const DD dd;
    const hn::Half<D> half;
    low = hn::Add(low, hn::PromoteTo(dd, hn::LowerHalf(half, s)));
    high = hn::Add(high, hn::PromoteTo(dd, hn::UpperHalf(half, s)));
  }
  static HWY_INLINE double wide_row(const T* x, std::int64_t count) {
    const D d;
    const DD dd;
    auto low = hn::Zero(dd), high = low;
    std::int64_t i = 0;
    const auto load = [&](std::int64_t k) HWY_ATTR { return hn::LoadU(d, x + i + k * N); };
    for (; i + 32 * N <= count; i += 32 * N)
      add_one(low, high, hn::Add(hn::Add(tree(0, load), tree(8, load)), hn::Add(tree(16, load), tree(24, load))));
    for (; i + 8 * N <= count; i += 8 * N) add_one(low, high, tree(0, load));
    for (; i + N <= count; i += N) add_one(low, high, hn::LoadU(d, x + i));
    if (i < count) add_one(low, high, load_rest(x + i, count - i));
    return hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
  }
  /// One vector of columns.
  template <class Load>
  static HWY_INLINE hn::Vec<D> wide_columns(std::int64_t length, Load load) {
    const DD dd;
    auto low = hn::Zero(dd), high = low;
    std::int64_t r = 0;
    for (; r + 8 <= length; r += 8) add_one(low, high, tree(r, load));
    for (; r < length; ++r) add_one(low, high, load(r));
    const hn::Half<D> half;
    return hn::Combine(D(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
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

  static HWY_INLINE void wide_block(const T* x, std::int64_t length, std::int64_t inner, T* out) {
    const D d;
    std::int64_t i = 0;
    for (; i + N <= inner; i += N)
      hn::StoreU(wide_columns(length, [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, x + r * inner + i); }), d, out + i);
    if (i == inner) return;
    const auto rest = static_cast<std::size_t>(inner - i);
    store_part(wide_columns(length, [&](std::int64_t r) HWY_ATTR { return load_part(d, x + r * inner + i, rest); }), d, out + i, rest);
  }

  static const Step* run(const Step* at, Frame& frame) {
    const auto& step = *static_cast<const AcrossStep*>(at);
    const T* x = reinterpret_cast<const T*>(frame.slots[step.in].pointer);
    T* out = reinterpret_cast<T*>(frame.slots[step.out].pointer);
    const std::int64_t outer = frame.slots[step.outer].integer, length = step.length, inner = step.inner;
    if (step.strip >= 0) {
      const bool first = frame.slots[step.strip].integer == 0;
      const std::int64_t count = frame.slots[step.count].integer;
      if constexpr (kSumsFloats) {
        double& total = frame.slots[step.total].f64;
        total = (first ? 0 : total) + wide_row(x, count);
        out[0] = static_cast<T>(total);
      } else {
        const T part = row(x, count);
        out[0] = first ? part : K::join_one(out[0], part);
      }
      return following(step);
    }
    if (inner == 1) {
      for (std::int64_t o = 0; o < outer; ++o, x += length) {
        if constexpr (kSumsFloats) out[o] = length > kLongRow ? static_cast<T>(wide_row(x, length)) : row(x, length);
        else out[o] = row(x, length);
      }
      return following(step);
    }
    if constexpr (kSumsFloats) {
      if (length > kLongColumn) {
        for (std::int64_t o = 0; o < outer; ++o, x += length * inner, out += inner) wide_block(x, length, inner, out);
        return following(step);
      }
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
    case u64: return find<std::uint64_t>(kind);
    case u32: return find<std::uint32_t>(kind);
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
