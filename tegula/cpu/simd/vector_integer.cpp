// Integer and boolean words.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_integer.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

// clang-format off: one word a line
struct Neg { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::Sub(hn::Zero(d), x); } };
struct Abs { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Zero(d), x), x); } };
struct Not { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Not(x); } };
struct Popcount {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) { return hn::BitCast(d, hn::PopulationCount(hn::BitCast(hn::RebindToUnsigned<D>(), x))); }
};
struct Sign {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const V one = hn::Set(d, 1), zero = hn::Zero(d);
    return hn::Sub(hn::IfThenElseZero(hn::Gt(x, zero), one), hn::IfThenElseZero(hn::Lt(x, zero), one));
  }
};
struct Add { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Add(a, b); } };
struct Sub { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Sub(a, b); } };
struct Mul {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      return hn::Mul(a, b);
    } else {  // low(a)·low(b) + (low(a)·high(b) + high(a)·low(b))·2^32, modulo 2^64
      const hn::RebindToUnsigned<D> du;
      const hn::Repartition<std::uint32_t, D> dw;
      const auto low = [&](V x) HWY_ATTR { return hn::BitCast(dw, x); };
      const auto high = [&](V x) HWY_ATTR { return hn::BitCast(dw, hn::ShiftRight<32>(hn::BitCast(du, x))); };
      const auto cross = hn::Add(hn::MulEven(low(a), high(b)), hn::MulEven(high(a), low(b)));
      return hn::BitCast(d, hn::Add(hn::MulEven(low(a), low(b)), hn::ShiftLeft<32>(cross)));
    }
  }
};
struct MulHi {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V b) {
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<std::uint32_t, D> dw;
    const hn::Repartition<std::uint64_t, D> dl;
    const auto ua = hn::BitCast(dw, a), ub = hn::BitCast(dw, b);
    const auto odd = [&](hn::Vec<decltype(dw)> x) HWY_ATTR { return hn::BitCast(dw, hn::ShiftRight<32>(hn::BitCast(dl, x))); };
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      const auto even = hn::BitCast(dw, hn::ShiftRight<32>(hn::MulEven(ua, ub)));
      return hn::BitCast(d, hn::OddEven(hn::BitCast(dw, hn::MulEven(odd(ua), odd(ub))), even));
    } else {  // from products of 32-bit halves: the middle ones carry into the upper one
      const auto mask = hn::Set(du, 0xffffffffu);
      const auto left = hn::MulEven(odd(ua), ub), right = hn::MulEven(ua, odd(ub));
      const auto middle = hn::Add(hn::ShiftRight<32>(hn::MulEven(ua, ub)), hn::Add(hn::And(left, mask), hn::And(right, mask)));
      const auto upper = hn::Add(hn::ShiftRight<32>(left), hn::Add(hn::ShiftRight<32>(right), hn::ShiftRight<32>(middle)));
      return hn::BitCast(d, hn::Add(hn::MulEven(odd(ua), odd(ub)), upper));
    }
  }
};
struct Min { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Min(a, b); } };
struct Max { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Max(a, b); } };
struct And { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::And(a, b); } };
struct Or { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Or(a, b); } };
struct Xor { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Xor(a, b); } };
template <class D>
HWY_INLINE hn::Vec<D> shift_amount(D d, hn::Vec<D> b) { return hn::And(b, hn::Set(d, 8 * sizeof(hn::TFromD<D>) - 1)); }
struct Shl { template <class D, class V> static HWY_INLINE V call(D d, V a, V b) { return (a << shift_amount(d, b)); } };
struct Shr { template <class D, class V> static HWY_INLINE V call(D d, V a, V b) { return (a >> shift_amount(d, b)); } };
struct Eq { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Eq(a, b); } };
struct Ne { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Ne(a, b); } };
struct Lt { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Lt(a, b); } };
struct Le { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Not(hn::Lt(b, a)); } };
struct Gt { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Lt(b, a); } };
struct Ge { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Not(hn::Lt(a, b)); } };
struct Select { template <class D, class V> static HWY_INLINE V call(D, hn::Mask<D> c, V a, V b) { return hn::IfThenElse(c, a, b); } };

// Booleans are bytes of 0 or 1.
struct Flip { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::Xor(x, hn::Set(d, 1)); } };
struct Same { template <class D, class V> static HWY_INLINE V call(D d, V a, V b) { return hn::Xor(hn::Xor(a, b), hn::Set(d, 1)); } };
// clang-format on

template <class T>
const MapTable* find(int word) {
  using tile::Word;
  switch (static_cast<Word>(word)) {
    case Word::Neg: return &Map<Neg, 2, T, T, T>::table;
    case Word::Abs: return &Map<Abs, 2, T, T, T>::table;
    case Word::Sign: return &Map<Sign, 2, T, T, T>::table;
    case Word::Not: return &Map<Not, 2, T, T, T>::table;
    case Word::Popcount: return &Map<Popcount, 2, T, T, T>::table;
    case Word::Add: return &Map<Add, 2, T, T, T, T>::table;
    case Word::Sub: return &Map<Sub, 2, T, T, T, T>::table;
    case Word::Mul: return &Map<Mul, 2, T, T, T, T>::table;
    case Word::MulHi: return &Map<MulHi, 2, T, T, T, T>::table;
    case Word::Min: return &Map<Min, 2, T, T, T, T>::table;
    case Word::Max: return &Map<Max, 2, T, T, T, T>::table;
    case Word::And: return &Map<And, 2, T, T, T, T>::table;
    case Word::Or: return &Map<Or, 2, T, T, T, T>::table;
    case Word::Xor: return &Map<Xor, 2, T, T, T, T>::table;
    case Word::Shl: return &Map<Shl, 2, T, T, T, T>::table;
    case Word::Shr: return &Map<Shr, 1, T, T, T, T>::table;
    case Word::Eq: return &Map<Eq, 1, T, bool, T, T>::table;
    case Word::Ne: return &Map<Ne, 1, T, bool, T, T>::table;
    case Word::Lt: return &Map<Lt, 1, T, bool, T, T>::table;
    case Word::Le: return &Map<Le, 1, T, bool, T, T>::table;
    case Word::Gt: return &Map<Gt, 1, T, bool, T, T>::table;
    case Word::Ge: return &Map<Ge, 1, T, bool, T, T>::table;
    case Word::Select: return &Map<Select, 2, T, T, bool, T, T>::table;
    default: return nullptr;
  }
}

const MapTable* find_boolean(int word) {
  using tile::Word;
  using T = std::uint8_t;
  switch (static_cast<Word>(word)) {
    case Word::Not: return &Map<Flip, 1, T, T, T>::table;
    case Word::And: return &Map<And, 1, T, T, T, T>::table;
    case Word::Or: return &Map<Or, 1, T, T, T, T>::table;
    case Word::Xor:
    case Word::Ne: return &Map<Xor, 1, T, T, T, T>::table;
    case Word::Eq: return &Map<Same, 1, T, T, T, T>::table;
    case Word::Select: return &Map<Select, 1, T, T, bool, T, T>::table;
    default: return nullptr;
  }
}

const MapTable* find_integer_here(int word, DType dtype) {
  if (word > 255) return nullptr;
  switch (dtype) {
    case i32: return find<std::int32_t>(word);
    case i64: return find<std::int64_t>(word);
    case u32: return find<std::uint32_t>(word);
    case u64: return find<std::uint64_t>(word);
    case boolean: return find_boolean(word);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_integer_here);
const MapTable* find_integer_arithmetic(int word, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_integer_here)(word, dtype); }
}  // namespace tegula::host
#endif
