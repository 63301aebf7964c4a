// Numbers of 8 bits and f32, on vectors (core/dtype.h defines the formats). No include guard but Highway's.
#if defined(TEGULA_CPU_VECTOR_FLOAT8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TEGULA_CPU_VECTOR_FLOAT8_INL_H_
#undef TEGULA_CPU_VECTOR_FLOAT8_INL_H_
#else
#define TEGULA_CPU_VECTOR_FLOAT8_INL_H_
#endif

#include "hwy/highway.h"
#include "tegula/core/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The codes lie in the low byte of u32.
template <int kMantissa>
class Float8Codes {
  using Format = Float8Format<kMantissa>;

 public:
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> encode(D d, hn::Vec<D> x) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto word = hn::BitCast(du, x), magnitude = hn::And(word, hn::Set(du, 0x7fffffffu));
    const auto above = [&](std::uint32_t limit) HWY_ATTR {  // magnitudes are positive as i32, too
      return hn::RebindMask(du, hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, static_cast<std::int32_t>(limit))));
    };
    const auto odd = hn::And(hn::ShiftRight<Format::kDropped>(magnitude), hn::Set(du, 1));
    const auto up = hn::Add(magnitude, hn::Add(odd, hn::Set(du, (1u << (Format::kDropped - 1)) - 1)));
    const auto normal = hn::Sub(hn::ShiftRight<Format::kDropped>(up), hn::Set(du, Format::kShift));
    const auto unit = hn::Set(du, Format::kUnit);
    const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, unit))), unit);
    auto code = hn::IfThenElse(above(Format::kLeastNormal - 1), normal, small);
    code = hn::IfThenElse(above(Format::kLastInside), hn::Set(du, Format::kBeyond), code);
    code = hn::IfThenElse(above(0x7f800000u), hn::Set(du, Format::kNaN), code);
    return hn::Or(code, hn::And(hn::ShiftRight<24>(word), hn::Set(du, 0x80u)));
  }

  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<hn::RebindToUnsigned<D>> code) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto magnitude = hn::And(code, hn::Set(du, 0x7fu));
    const auto normal = hn::ShiftLeft<Format::kDropped>(hn::Add(magnitude, hn::Set(du, Format::kShift)));
    const auto small = hn::BitCast(du, hn::Mul(hn::ConvertTo(d, hn::BitCast(di, magnitude)), hn::BitCast(d, hn::Set(du, Format::kLeast))));
    auto word = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 1u << kMantissa)), small, normal);
    if constexpr (Format::kInfinite) word = hn::IfThenElse(hn::Eq(magnitude, hn::Set(du, Format::kBeyond)), hn::Set(du, 0x7f800000u), word);
    word = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, Format::kLastNumber)), hn::Set(du, 0x7fc00000u), word);
    return hn::BitCast(d, hn::Or(word, hn::ShiftLeft<24>(hn::And(code, hn::Set(du, 0x80u)))));
  }
};

}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
