// Cast, Narrow and Bitcast.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_convert.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_float8-inl.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

/// One element type to another, both of as many lanes as d has; d's lanes are as wide as the widest of the two and of an intermediate type.
template <class From, class To>
struct Cast {
  template <class D, class V>
  static HWY_INLINE auto call(D d, V x) {
    const hn::Rebind<std::conditional_t<std::is_same_v<To, bool>, std::uint8_t, To>, D> to;  // Highway has no lanes of bool
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>)
      x = hn::IfThenElseZero(hn::Eq(x, x), x);  // NaN
    if constexpr (std::is_same_v<From, bool>) return hn::IfThenElseZero(hn::RebindMask(to, x), hn::Set(to, 1));
    else if constexpr (std::is_same_v<To, bool>) return hn::Not(hn::Eq(x, hn::Zero(d)));  // true for NaN
    else if constexpr (std::is_same_v<From, To>) return x;
    else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) return of_integer(to, x);
    else if constexpr (std::is_unsigned_v<To>) return to_unsigned(d, x);
    else if constexpr (std::is_same_v<From, std::uint32_t> && std::is_same_v<To, double>)
      return hn::ConvertTo(to, hn::PromoteTo(hn::Rebind<std::uint64_t, D>(), x));
    else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, std::int64_t>)
      return hn::ConvertTo(to, hn::PromoteTo(hn::Rebind<double, D>(), x));
    else if constexpr (std::is_integral_v<From> && sizeof(From) == 8 && std::is_same_v<To, float>)
      return hn::DemoteTo(to, hn::ConvertTo(hn::Rebind<double, D>(), for_two_roundings(d, x)));
    else if constexpr (sizeof(From) == sizeof(To)) return hn::ConvertTo(to, x);
    else if constexpr (sizeof(From) < sizeof(To)) return hn::PromoteTo(to, x);
    else return hn::DemoteTo(to, x);
  }

 private:
  /// Modulo 2^n.
  template <class DTo, class V>
  static HWY_INLINE hn::Vec<DTo> of_integer(DTo to, V x) {
    if constexpr (sizeof(From) == sizeof(To)) {
      return hn::BitCast(to, x);
    } else if constexpr (sizeof(From) > sizeof(To)) {
      return hn::BitCast(to, hn::TruncateTo(hn::RebindToUnsigned<DTo>(), hn::BitCast(hn::RebindToUnsigned<hn::DFromV<V>>(), x)));
    } else {
      using Wide = std::conditional_t<std::is_signed_v<From>, std::int64_t, std::uint64_t>;
      return hn::BitCast(to, hn::PromoteTo(hn::Rebind<Wide, DTo>(), x));
    }
  }
  /// Integers beyond 2^52, so changed that f64 holds them and rounds to the f32 to which they round themselves: one bit says whether something was lost.
  template <class D, class V>
  static HWY_INLINE V for_two_roundings(D d, V x) {
    const V top = hn::ShiftRight<52>(x), none = hn::Zero(d), lost = hn::Set(d, 0x7ff);
    auto fits = hn::Eq(top, none);
    if constexpr (std::is_signed_v<From>) fits = hn::Or(fits, hn::Eq(top, hn::Set(d, From{-1})));
    const V bit = hn::IfThenZeroElse(hn::Eq(hn::And(x, lost), none), hn::Set(d, 0x800));
    return hn::IfThenElse(fits, x, hn::Or(hn::AndNot(lost, x), bit));
  }
  /// Floats to unsigned integers, through i64; values out of range become the nearer end of the range.
  template <class D, class V>
  static HWY_INLINE auto to_unsigned(D, V x) {
    const hn::Rebind<double, D> dd;
    const hn::Rebind<std::int64_t, D> di;
    const hn::Rebind<std::uint64_t, D> du;
    hn::Vec<decltype(dd)> wide;
    if constexpr (sizeof(From) == 8) wide = x;
    else wide = hn::PromoteTo(dd, x);
    wide = hn::Max(wide, hn::Zero(dd));
    if constexpr (sizeof(To) == 4) {
      const auto whole = hn::ConvertTo(di, hn::Min(wide, hn::Set(dd, 4294967295.0)));
      return hn::TruncateTo(hn::Rebind<To, D>(), hn::BitCast(du, whole));
    } else {
      const auto half = hn::Set(dd, 0x1p63);
      const auto upper = hn::Ge(wide, half);
      const auto whole = hn::BitCast(du, hn::ConvertTo(di, hn::Sub(wide, hn::IfThenElseZero(upper, half))));
      return hn::Xor(whole, hn::IfThenElseZero(hn::RebindMask(du, upper), hn::Set(du, std::uint64_t{1} << 63)));
    }
  }
};

template <class From, class To>
const MapTable* cast() {
  if constexpr (std::is_same_v<From, bool> && std::is_same_v<To, bool>) {
    return &Map<Cast<std::uint8_t, std::uint8_t>, 1, std::uint8_t, std::uint8_t, std::uint8_t>::table;
  } else if constexpr (std::is_same_v<From, bool>) {
    return &Map<Cast<From, To>, 1, To, To, From>::table;
  } else {
    constexpr bool kByDouble = std::is_same_v<From, float> && std::is_same_v<To, std::uint32_t>;
    using Wide = std::conditional_t<kByDouble, double, std::conditional_t<(sizeof(From) >= sizeof(To)), From, To>>;
    return &Map<Cast<From, To>, 1, Wide, To, From>::table;
  }
}

template <class From>
const MapTable* cast_from(DType to) {
  switch (to) {
    case f64: return cast<From, double>();
    case f32: return cast<From, float>();
    case i64: return cast<From, std::int64_t>();
    case i32: return cast<From, std::int32_t>();
    case u64: return cast<From, std::uint64_t>();
    case u32: return cast<From, std::uint32_t>();
    default: return cast<From, bool>();
  }
}

struct NarrowHalf {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
  }
};
/// Rounds to nearest even; a NaN stays one.
struct NarrowBFloat16 {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    const auto word = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(du, 1));
    const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto quiet = hn::Or(word, hn::Set(du, 0x400000));
    return hn::BitCast(d, hn::And(hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, rounded), hn::Set(du, 0xffff0000u)));
  }
};
// clang-format off: one word a line
struct NarrowI16 { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(x)); } };
struct NarrowI8 { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::ShiftRight<24>(hn::ShiftLeft<24>(x)); } };
struct NarrowU16 { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::And(x, hn::Set(d, 0xffff)); } };
struct NarrowU8 { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::And(x, hn::Set(d, 0xff)); } };
// clang-format on
template <int kMantissa>
struct NarrowFloat8 {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    return Float8Codes<kMantissa>::decode(d, Float8Codes<kMantissa>::encode(d, x));
  }
};

const MapTable* narrow_to(DType stored) {
  switch (stored) {
    case f16: return &Map<NarrowHalf, 1, float, float, float>::table;
    case bf16: return &Map<NarrowBFloat16, 1, float, float, float>::table;
    case e4m3: return &Map<NarrowFloat8<3>, 1, float, float, float>::table;
    case e5m2: return &Map<NarrowFloat8<2>, 1, float, float, float>::table;
    case u16: return &Map<NarrowU16, 1, std::int32_t, std::int32_t, std::int32_t>::table;
    case i16: return &Map<NarrowI16, 1, std::int32_t, std::int32_t, std::int32_t>::table;
    case i8: return &Map<NarrowI8, 1, std::int32_t, std::int32_t, std::int32_t>::table;
    default: return &Map<NarrowU8, 1, std::int32_t, std::int32_t, std::int32_t>::table;
  }
}

const MapTable* find_conversion_here(int word, DType from, DType to) {
  using tile::Word;
  if (word == static_cast<int>(Word::Bitcast)) {
    return size_of(from) == 8 ? cast<double, double>() : size_of(from) == 4 ? cast<float, float>() : cast<bool, bool>();
  }
  if (word == static_cast<int>(Word::Narrow)) return narrow_to(to);
  if (word != static_cast<int>(Word::Cast)) return nullptr;
  switch (from) {
    case f64: return cast_from<double>(to);
    case f32: return cast_from<float>(to);
    case i64: return cast_from<std::int64_t>(to);
    case i32: return cast_from<std::int32_t>(to);
    case u64: return cast_from<std::uint64_t>(to);
    case u32: return cast_from<std::uint32_t>(to);
    default: return cast_from<bool>(to);
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_conversion_here);
const MapTable* find_conversion(int word, DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_conversion_here)(word, from, to); }
}  // namespace tegula::host
#endif
