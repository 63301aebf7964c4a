// f32 functions on vectors, compiled once per instruction set. Errors are at most 4 units in the last place over all floats (the
// tests walk through them); infinities, NaN and results below the smallest normal number included.
//
// The polynomials were fitted for this file, by Remez exchange and Lawson's iteration in 50 digits, against the error in units in
// the last place of the result.
#if defined(TEGULA_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TEGULA_CPU_VECTOR_MATH_INL_H_
#undef TEGULA_CPU_VECTOR_MATH_INL_H_
#else
#define TEGULA_CPU_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "tegula/cpu/simd/vector_map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {

/// c0 + x·(c1 + x·(…)).
template <class D, class V>
HWY_INLINE V horner(D d, V, double c) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(c));
}
template <class D, class V, class... C>
HWY_INLINE V horner(D d, V x, double c, C... rest) {
  return hn::MulAdd(horner(d, x, rest...), x, hn::Set(d, static_cast<hn::TFromD<D>>(c)));
}

/// x within [-limit, limit]; NaN stays. (On x86, Min and Max give their second operand when either is NaN.)
template <class D, class V>
HWY_INLINE V clamped(D d, V x, float low, float high) {
  return hn::Max(hn::Set(d, low), hn::Min(hn::Set(d, high), x));
}

/// p·2^n for p around 1 and whole n in [-252, 252]; right where the result is subnormal or overflows.
template <class D, class V>
HWY_INLINE V times_power_of_two(D d, V p, V n) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(V) == 64) return V{_mm512_scalef_ps(p.raw, n.raw)};
#endif
  const hn::RebindToSigned<D> di;
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole), rest = hn::Sub(whole, half), bias = hn::Set(di, 127);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(rest, bias)));
  return hn::Mul(hn::Mul(p, first), second);
}

/// e^r - 1 for |r| <= ln(2)/2.
template <class D, class V>
HWY_INLINE V expm1_reduced(D d, V r) {
  const V q = horner(d, r, 0.5000000027086513, 0.16666576620974374, 0.04166637412164208, 0.008363237885573721, 0.0013941215601065715);
  return hn::MulAdd(hn::Mul(r, r), q, r);
}

/// x = n·ln(2) + r. The product of n and the first part of ln(2) is subtracted exactly.
template <class D, class V>
HWY_INLINE V reduce_exp(D d, V x, V& n) {
  n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  return hn::NegMulAdd(n, hn::Set(d, -1.90465421e-9f), hn::NegMulAdd(n, hn::Set(d, 0.693147182f), x));
}

struct Exp {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    V n;
    const V r = reduce_exp(d, clamped(d, x, -104.0f, 89.0f), n);
    return times_power_of_two(d, hn::Add(hn::Set(d, 1.0f), expm1_reduced(d, r)), n);
  }
};

struct Exp2 {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    x = clamped(d, x, -151.0f, 129.0f);
    const V n = hn::Round(x);
    const V r = hn::Mul(hn::Sub(x, n), hn::Set(d, 0.693147182f));
    return times_power_of_two(d, hn::Add(hn::Set(d, 1.0f), expm1_reduced(d, r)), n);
  }
};

struct Expm1 {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    V n;
    const V p = expm1_reduced(d, reduce_exp(d, clamped(d, x, -18.0f, 89.0f), n));
    // 2^n·p + (2^n - 1), in halves because 2^128 does not fit. For n = 0 it is p itself.
    const hn::RebindToSigned<D> di;
    const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 126))));
    const V half = hn::MulAdd(scale, p, hn::Sub(scale, hn::Set(d, 0.5f)));
    // Twice the half would flush the last bit of a subnormal x, and lose its sign at 0.
    const V result = hn::Add(half, half);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-5f)), hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.5f), x), result);
  }
};

/// x = 2^e·(1 + t) with 1 + t in [sqrt(1/2), sqrt(2)), for x normal and positive.
template <class D, class V>
HWY_INLINE V split(D d, V x, hn::Vec<hn::RebindToSigned<D>>& e) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  return hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), hn::Set(d, 1.0f));
}

/// log(1 + t) - t, for 1 + t in [sqrt(1/2), sqrt(2)).
template <class D, class V>
HWY_INLINE V log_rest(D d, V t) {
  const V q = horner(d, t, -0.5, 0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.1662335842847824, 0.14201751351356506,
                     -0.1316017061471939, 0.12761621177196503, -0.07634574919939041);
  return hn::Mul(hn::Mul(t, t), q);
}

/// t + rest + e·ln(2), from the small to the large.
template <class D, class V>
HWY_INLINE V add_exponent(D d, V t, V rest, V e) {
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(t, hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), rest)));
}

/// The results where x is not positive and finite: -inf at 0, NaN below, inf and NaN themselves.
template <class D, class V>
HWY_INLINE V log_special(D d, V x, V result) {
  const auto plain = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, std::numeric_limits<float>::infinity())));
  if (HWY_LIKELY(hn::AllTrue(d, plain))) return result;
  const V edge = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, -std::numeric_limits<float>::infinity()),
                                hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), x));
  return hn::IfThenElse(plain, result, edge);
}

/// The natural logarithm, or to base 2.
template <bool kBinary>
struct Logarithm {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
    hn::Vec<hn::RebindToSigned<D>> whole;
    const V t = split(d, hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 8388608.0f)), x), whole);
    const V e = hn::Sub(hn::ConvertTo(d, whole), hn::IfThenElseZero(subnormal, hn::Set(d, 23.0f)));
    const V rest = log_rest(d, t);
    if constexpr (!kBinary) return log_special(d, x, add_exponent(d, t, rest, e));
    const V scale = hn::Set(d, 1.44269504f);
    return log_special(d, x, hn::Add(hn::MulAdd(t, scale, hn::MulAdd(rest, scale, hn::Mul(t, hn::Set(d, 1.92596299e-8f)))), e));
  }
};

struct Log1p {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const hn::RebindToSigned<D> di;
    const V one = hn::Set(d, 1.0f);
    // u + lost = 1 + x exactly.
    const V u = hn::Add(one, x), b = hn::Sub(u, x);
    const V lost = hn::Add(hn::Sub(x, hn::Sub(u, b)), hn::Sub(one, b));
    hn::Vec<decltype(di)> whole;
    V t = split(d, u, whole);
    const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Max(hn::Sub(hn::Set(di, 127), whole), hn::Zero(di))));  // 2^-e
    t = hn::MulAdd(lost, scale, t);
    return log_special(d, u, add_exponent(d, t, log_rest(d, t), hn::ConvertTo(d, whole)));
  }
};

/// 2^r for |r| <= 1/2.
template <class D, class V>
HWY_INLINE V exp2_reduced(D d, V r) {
  return horner(d, r, 1.0, 0.6931472065995035, 0.2402265128892505, 0.05550327217967281, 0.009618010266906871, 0.0013400470058608704,
                0.00015474626616130536);
}

/// Odd functions that end at ±1: a polynomial for small |x|, and 1 minus something small for the others.
struct Tanh {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const V a = hn::Min(hn::Set(d, 10.0f), hn::Abs(x)), one = hn::Set(d, 1.0f);  // NaN stays
    const V u = hn::Mul(x, x);
    const V small = hn::MulAdd(
        hn::Mul(x, u),
        horner(d, u, -0.3333328391541017, 0.13331491064172374, -0.053743481820943295, 0.02065053961308407, -0.005716996316926188), x);
    // 1 - 2 / (e^2a + 1)
    const V scale = hn::Set(d, 2.88539008f);
    const V n = hn::Round(hn::Mul(a, scale));
    const V e = times_power_of_two(d, exp2_reduced(d, hn::MulSub(a, scale, n)), n);
    const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
    return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), small, hn::CopySignToAbs(large, x));
  }
};

struct Erf {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const V a = hn::Min(hn::Set(d, 4.0f), hn::Abs(x)), one = hn::Set(d, 1.0f);
    const V u = hn::Mul(x, x);
    const V small = hn::MulAdd(x,
                               horner(d, u, 0.12837916572659103, -0.3761262582345255, 0.11283585139772527, -0.026853811565638895,
                                      0.005188326983571115, -0.0008010187457900701, 7.853840995326824e-05),
                               x);
    // 1 - 2^(log2(erfc(a)))
    const V z = horner(d, a, -0.0038543765358355054, -1.612123257617005, -0.9442274917908948, -0.1278724358557341, 0.02132044959688125,
                       -0.0016597266529820964);
    const V n = hn::Round(z);
    const V large = hn::Sub(one, times_power_of_two(d, exp2_reduced(d, hn::Sub(z, n)), n));
    return hn::IfThenElse(hn::Lt(a, one), small, hn::CopySignToAbs(large, x));
  }
};

struct Sigmoid {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const V one = hn::Set(d, 1.0f);
    const V e = Exp::call(d, hn::Neg(hn::Abs(x)));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
};

/// f on every element, through memory: for arguments that are rare.
template <class D, class V, class F>
HWY_NOINLINE V one_by_one(D d, V x, V y, F f) {
  alignas(64) float a[hn::MaxLanes(D())], b[hn::MaxLanes(D())];
  hn::Store(x, d, a), hn::Store(y, d, b);
  for (std::size_t i = 0; i < hn::MaxLanes(D()); ++i) a[i] = static_cast<float>(f(static_cast<double>(a[i]), static_cast<double>(b[i])));
  return hn::Load(d, a);
}

/// f64 arithmetic on the two halves of f32 vectors.
template <class F, class D, class... V>
HWY_INLINE auto in_double(D d, V... x) {
  const hn::Half<D> dh;
  const hn::RepartitionToWide<D> dd;
  const auto low = F::call(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x))...), high = F::call(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

/// sin(x + quarter·π/2), |x| <= 2^30: the remainder of π/2 in f64, then Taylor's series.
template <int kQuarter>
struct SineInDouble {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    const hn::RebindToSigned<D> di;
    const V k = hn::Round(hn::Mul(x, hn::Set(d, 0.63661977236758134308)));
    const V r = hn::NegMulAdd(k, hn::Set(d, 6.123233995736766e-17), hn::NegMulAdd(k, hn::Set(d, 1.5707963267948966), x));
    const auto quarter = hn::Add(hn::ConvertTo(di, k), hn::Set(di, kQuarter));
    const V u = hn::Mul(r, r);
    const V sine = hn::MulAdd(hn::Mul(r, u), horner(d, u, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800), r);
    const V cosine = hn::MulAdd(u, horner(d, u, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600), hn::Set(d, 1.0));
    const auto odd = hn::RebindMask(d, hn::Ne(hn::And(quarter, hn::Set(di, 1)), hn::Zero(di)));
    const auto sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quarter, hn::Set(di, 2))));
    return hn::Xor(hn::IfThenElse(odd, cosine, sine), sign);
  }
};

template <int kQuarter>
struct Sine {
  template <class D, class V>
  static HWY_INLINE V call(D d, V x) {
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, 1073741824.0f))))) {
      return one_by_one(d, x, x, [](double a, double) { return kQuarter == 0 ? std::sin(a) : std::cos(a); });
    }
    return in_double<SineInDouble<kQuarter>>(d, x);
  }
};

/// a^y for normal positive a: 2^(y·log2(a)) in f64.
struct PowInDouble {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V y) {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(di, a);
    const auto whole = hn::ShiftRight<52>(hn::Sub(bits, hn::Set(di, 0x3fe6a09e667f3bcdll)));
    const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(whole)));
    const V s = hn::Div(hn::Sub(m, hn::Set(d, 1.0)), hn::Add(m, hn::Set(d, 1.0))), u = hn::Mul(s, s);
    const V log_m = hn::Mul(s, horner(d, u, 2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13));
    const V log2_a = hn::MulAdd(log_m, hn::Set(d, 1.4426950408889634), hn::ConvertTo(d, whole));
    const V z = hn::Min(hn::Max(hn::Mul(y, log2_a), hn::Set(d, -300.0)), hn::Set(d, 300.0));
    const V n = hn::Round(z), r = hn::Mul(hn::Sub(z, n), hn::Set(d, 0.6931471805599453));
    const V p = horner(d, r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880);
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::ConvertTo(di, n))));
  }
};

struct Pow {
  template <class D, class V>
  static HWY_INLINE V call(D d, V a, V y) {
    const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const auto zeros = hn::And(hn::Eq(a, hn::Zero(d)), hn::Eq(y, hn::Zero(d)));  // also elements beyond the end of a row
    a = hn::IfThenElse(zeros, hn::Set(d, 1.0f), a);
    const auto plain =
        hn::And(hn::And(hn::Ge(a, hn::Set(d, std::numeric_limits<float>::min())), hn::Lt(a, infinity)), hn::Lt(hn::Abs(y), infinity));
    if (HWY_UNLIKELY(!hn::AllTrue(d, plain))) return one_by_one(d, a, y, [](double x, double z) { return std::pow(x, z); });
    return in_double<PowInDouble>(d, a, y);
  }
};

}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
