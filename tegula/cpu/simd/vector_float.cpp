// Floating-point words that are one or a few instructions.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_float.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include <limits>

#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

// Each word: call(d, vectors…).
// clang-format off: one word a line
struct Neg { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Neg(x); } };
struct Abs { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Abs(x); } };
struct Floor { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Floor(x); } };
struct Ceil { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Ceil(x); } };
struct Round { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Round(x); } };
struct Trunc { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Trunc(x); } };
struct Sqrt { template <class D, class V> static HWY_INLINE V call(D, V x) { return hn::Sqrt(x); } };
struct Rsqrt { template <class D, class V> static HWY_INLINE V call(D d, V x) { return hn::Div(hn::Set(d, 1), hn::Sqrt(x)); } };
struct Sign {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const V one = hn::Set(d, 1), zero = hn::Zero(d);
    return hn::Sub(hn::IfThenElseZero(hn::Gt(x, zero), one), hn::IfThenElseZero(hn::Lt(x, zero), one));
  }
};
struct IsNan { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V x) { return hn::IsNaN(x); } };
struct IsInf {
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> call(D d, V x) {
    return hn::Eq(hn::Abs(x), hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity()));
  }
};
struct Add { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Add(a, b); } };
struct Sub { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Sub(a, b); } };
struct Mul { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Mul(a, b); } };
struct Div { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::Div(a, b); } };
/// Divides by one f32 for a whole row: the product with the reciprocal, and the remainder made good (Markstein, "Computation of elementary
/// functions on the IBM RISC System/6000 processor", 1990). A third of the time of a division; equal to it but for the last bit of
/// some quotients below 2^-100.
struct DivideByHeld {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V b) {
    const V size = hn::Abs(b);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::And(hn::Gt(size, hn::Set(d, 0x1p-100f)), hn::Lt(size, hn::Set(d, 0x1p100f)))))) return hn::Div(a, b);
    const V inverse = hn::Div(hn::Set(d, 1), b);
    const V q = hn::Mul(a, inverse);
    const V corrected = hn::MulAdd(hn::NegMulAdd(q, b, a), inverse, q);
    return hn::IfThenElse(hn::Lt(hn::Abs(q), hn::Set(d, std::numeric_limits<float>::infinity())), corrected, q);
  }
};
// On x86 Min and Max give b when either is NaN, elsewhere NaN: so only a NaN in a needs care.
struct Min { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b)); } };
struct Max { template <class D, class V> static HWY_INLINE V call(D, V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b)); } };
struct Eq { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Eq(a, b); } };
// Highway's Ne is false for NaN on some machines.
struct Ne { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Not(hn::Eq(a, b)); } };
struct Lt { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Lt(a, b); } };
struct Le { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Le(a, b); } };
struct Gt { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Gt(a, b); } };
struct Ge { template <class D, class V> static HWY_INLINE hn::Mask<D> call(D, V a, V b) { return hn::Ge(a, b); } };
struct Select { template <class D, class V> static HWY_INLINE V call(D, hn::Mask<D> c, V a, V b) { return hn::IfThenElse(c, a, b); } };
// Two roundings: this file is compiled without contraction (see CMakeLists.txt).
struct MultiplyAdd { template <class D, class V> static HWY_INLINE V call(D, V a, V b, V c) { return hn::Add(hn::Mul(a, b), c); } };
struct MultiplySubtract { template <class D, class V> static HWY_INLINE V call(D, V a, V b, V c) { return hn::Sub(hn::Mul(a, b), c); } };
struct SubtractProduct { template <class D, class V> static HWY_INLINE V call(D, V a, V b, V c) { return hn::Sub(c, hn::Mul(a, b)); } };
struct Fma { template <class D, class V> static HWY_INLINE V call(D, V a, V b, V c) { return hn::MulAdd(a, b, c); } };
// clang-format on
template <class Compare>
struct SelectBy {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V b, V c, V e) {
    return hn::IfThenElse(Compare::call(d, a, b), c, e);
  }
};

constexpr MapTable kFloatDivide = [] {
  MapTable table = Map<Div, 4, float, float, float, float>::table;
  table.run[1] = Map<DivideByHeld, 4, float, float, float, float>::table.run[1];
  return table;
}();

template <class T>
const MapTable* find(int word) {
  using tile::Word;
  switch (word) {
    case static_cast<int>(Word::Neg): return &Map<Neg, 4, T, T, T>::table;
    case static_cast<int>(Word::Abs): return &Map<Abs, 4, T, T, T>::table;
    case static_cast<int>(Word::Sign): return &Map<Sign, 4, T, T, T>::table;
    case static_cast<int>(Word::Floor): return &Map<Floor, 4, T, T, T>::table;
    case static_cast<int>(Word::Ceil): return &Map<Ceil, 4, T, T, T>::table;
    case static_cast<int>(Word::Round): return &Map<Round, 4, T, T, T>::table;
    case static_cast<int>(Word::Trunc): return &Map<Trunc, 4, T, T, T>::table;
    case static_cast<int>(Word::Sqrt): return &Map<Sqrt, 4, T, T, T>::table;
    case static_cast<int>(Word::Rsqrt): return &Map<Rsqrt, 4, T, T, T>::table;
    case static_cast<int>(Word::IsNan): return &Map<IsNan, 2, T, bool, T>::table;
    case static_cast<int>(Word::IsInf): return &Map<IsInf, 2, T, bool, T>::table;
    case static_cast<int>(Word::Add): return &Map<Add, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Sub): return &Map<Sub, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Mul): return &Map<Mul, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Div):
      if constexpr (std::is_same_v<T, float>) return &kFloatDivide;
      return &Map<Div, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Min): return &Map<Min, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Max): return &Map<Max, 4, T, T, T, T>::table;
    case static_cast<int>(Word::Eq): return &Map<Eq, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Ne): return &Map<Ne, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Lt): return &Map<Lt, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Le): return &Map<Le, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Gt): return &Map<Gt, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Ge): return &Map<Ge, 2, T, bool, T, T>::table;
    case static_cast<int>(Word::Select): return &Map<Select, 4, T, T, bool, T, T>::table;
    case static_cast<int>(Word::Fma): return &Map<Fma, 4, T, T, T, T, T>::table;
    case static_cast<int>(Fused::MultiplyAdd): return &Map<MultiplyAdd, 4, T, T, T, T, T>::table;
    case static_cast<int>(Fused::MultiplySubtract): return &Map<MultiplySubtract, 4, T, T, T, T, T>::table;
    case static_cast<int>(Fused::SubtractProduct): return &Map<SubtractProduct, 4, T, T, T, T, T>::table;
    case static_cast<int>(Fused::SelectLess): return &Map<SelectBy<Lt>, 2, T, T, T, T, T, T>::table;
    case static_cast<int>(Fused::SelectLessEqual): return &Map<SelectBy<Le>, 2, T, T, T, T, T, T>::table;
    case static_cast<int>(Fused::SelectEqual): return &Map<SelectBy<Eq>, 2, T, T, T, T, T, T>::table;
    case static_cast<int>(Fused::SelectNotEqual): return &Map<SelectBy<Ne>, 2, T, T, T, T, T, T>::table;
    default: return nullptr;
  }
}

const MapTable* find_float_here(int word, DType dtype) {
  return dtype == f32 ? find<float>(word) : dtype == f64 ? find<double>(word) : nullptr;
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_float_here);
const MapTable* find_float_arithmetic(int word, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_float_here)(word, dtype); }
}  // namespace tegula::host
#endif
