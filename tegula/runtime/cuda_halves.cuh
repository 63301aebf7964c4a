// __half and __nv_bfloat16 for kernels of one's own, by CUDA's names. NVRTC has no header of theirs and the system's C++ compiler has none: both read this text.
// Results are rounded to the nearest number, ties to even.

#pragma region Halves
#ifdef TEGULA_EMULATED
#define TEGULA_OF_HALVES TEGULA_WORD
// Reports the accesses that the compiler does not tell of: members work on memory, and the words' own code is not watched.
#define TEGULA_COPIED(T, ...) TEGULA_WORD T(const T& other) { TEGULA_TOUCH(&other, kRead), __VA_ARGS__; }
#define TEGULA_TOUCH(place, kind) \
  emulated::checked_access(place, static_cast<int>(sizeof *(place)), emulated::kind, __builtin_return_address(0))
#else
#define TEGULA_OF_HALVES __device__ __forceinline__
#define TEGULA_COPIED(T, ...) T(const T&) = default;
#define TEGULA_TOUCH(place, kind) static_cast<void>(0)
#endif

namespace halves {
using Bits = unsigned short;
#ifdef TEGULA_EMULATED
/// Numbers of `digits` bits behind the point and with this bias of the exponent.
TEGULA_OF_HALVES Bits rounded(double x, int digits, int bias) {
  const Bits sign = signbit(x) ? 0x8000 : 0;
  const unsigned infinite = (2u * bias + 1) << digits;
  if (x != x) return 0x7fff;
  const double size = fabs(x);
  if (size > DBL_MAX || size == 0) return sign | (size == 0 ? 0 : infinite);
  int exponent = 0;
  frexp(size, &exponent);
  exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
  if (exponent > bias) return sign | infinite;
  const auto steps = static_cast<unsigned>(rint(ldexp(size, digits - exponent)));
  return sign | (((exponent + bias - 1u) << digits) + steps);
}
/// a b + c of such numbers: the product is exact, and the sum rounded so that rounding it again makes no difference.
TEGULA_OF_HALVES double fused(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!(fabs(sum) <= DBL_MAX)) return sum;
  const double back = sum - product, missing = (product - (sum - back)) + (c - back);
  if (missing == 0 || (__double_as_longlong(sum) & 1) != 0) return sum;
  return nextafter(sum, missing > 0 ? HUGE_VAL : -HUGE_VAL);
}
TEGULA_OF_HALVES Bits to_half(double x) { return rounded(x, 10, 15); }
TEGULA_OF_HALVES Bits to_bfloat16(double x) { return rounded(x, 7, 127); }
TEGULA_OF_HALVES float from_half(Bits bits) {
  const int exponent = bits >> 10 & 31, digits = bits & 1023;
  const float size = exponent == 31 ? (digits != 0 ? NAN : HUGE_VALF) : ldexpf(exponent == 0 ? digits : 1024 + digits, exponent == 0 ? -24 : exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}
#define TEGULA_HALF_OPERATION(kind, name, expression)                       \
  TEGULA_OF_HALVES Bits kind##_##name(Bits a, Bits b) {                     \
    const float x = from_##kind(a), y = from_##kind(b);                     \
    return to_##kind(static_cast<float>(expression));                       \
  }
#define TEGULA_HALF_ARITHMETIC(kind)                                                                       \
  TEGULA_HALF_OPERATION(kind, add, x + y) TEGULA_HALF_OPERATION(kind, sub, x - y) TEGULA_HALF_OPERATION(kind, mul, x * y) \
  TEGULA_OF_HALVES Bits kind##_fma(Bits a, Bits b, Bits c) { return to_##kind(fused(from_##kind(a), from_##kind(b), from_##kind(c))); }
#else
TEGULA_OF_HALVES Bits to_half(float x) { Bits y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
TEGULA_OF_HALVES Bits to_half(double x) { Bits y; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y) : "d"(x)); return y; }
TEGULA_OF_HALVES Bits to_bfloat16(float x) { Bits y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
TEGULA_OF_HALVES Bits to_bfloat16(double x) {
  // By a float that is odd where it is not exact: rounding it again makes no difference.
  const float cut = __double2float_rz(x);
  const bool odd = static_cast<double>(cut) != x && x == x && cut - cut == 0;
  return to_bfloat16(odd ? __uint_as_float(__float_as_uint(cut) | 1u) : cut);
}
TEGULA_OF_HALVES float from_half(Bits bits) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits)); return y; }
#define TEGULA_HALF_PTX2(kind, name, ptx) \
  TEGULA_OF_HALVES Bits kind##_##name(Bits a, Bits b) { Bits y; asm("{" ptx "}" : "=h"(y) : "h"(a), "h"(b)); return y; }
#define TEGULA_HALF_PTX3(kind, name, ptx) \
  TEGULA_OF_HALVES Bits kind##_##name(Bits a, Bits b, Bits c) { Bits y; asm("{" ptx "}" : "=h"(y) : "h"(a), "h"(b), "h"(c)); return y; }
TEGULA_HALF_PTX2(half, add, "add.f16 %0, %1, %2;")
TEGULA_HALF_PTX2(half, sub, "sub.f16 %0, %1, %2;")
TEGULA_HALF_PTX2(half, mul, "mul.f16 %0, %1, %2;")
TEGULA_HALF_PTX3(half, fma, "fma.rn.f16 %0, %1, %2, %3;")
// Before Hopper a bfloat16 is only multiplied and added: 1 a + b, -1 b + a, a b - 0.
TEGULA_HALF_PTX2(bfloat16, add, ".reg .b16 c; mov.b16 c, 0x3f80; fma.rn.bf16 %0, %1, c, %2;")
TEGULA_HALF_PTX2(bfloat16, sub, ".reg .b16 c; mov.b16 c, 0xbf80; fma.rn.bf16 %0, %2, c, %1;")
TEGULA_HALF_PTX2(bfloat16, mul, ".reg .b16 c; mov.b16 c, 0x8000; fma.rn.bf16 %0, %1, %2, c;")
TEGULA_HALF_PTX3(bfloat16, fma, "fma.rn.bf16 %0, %1, %2, %3;")
#define TEGULA_HALF_ARITHMETIC(kind)
#endif
TEGULA_OF_HALVES float from_bfloat16(Bits bits) { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
TEGULA_HALF_ARITHMETIC(half)
TEGULA_HALF_ARITHMETIC(bfloat16)
}  // namespace halves

#define TEGULA_HALF_FROM(T, kind, number) \
  TEGULA_OF_HALVES T(number x) : bits(halves::to_##kind(static_cast<double>(x))) {}
#define TEGULA_HALF_ASSIGNED(T, sign, name)                                             \
  TEGULA_OF_HALVES T& operator sign(const T& other) {                                   \
    TEGULA_TOUCH(&other, kRead), TEGULA_TOUCH(this, kRead), TEGULA_TOUCH(this, kWrite); \
    bits = name(bits, other.bits);                                                      \
    return *this;                                                                       \
  }
#define TEGULA_HALF_COMPARED(T, sign, name)                                                                            \
  TEGULA_OF_HALVES bool operator sign(T a, T b) { return static_cast<float>(a) sign static_cast<float>(b); }           \
  TEGULA_OF_HALVES bool name(T a, T b) { return static_cast<float>(a) sign static_cast<float>(b); }
#define TEGULA_HALF_BY_FLOAT(T, name, function) \
  TEGULA_OF_HALVES T name(T x) { return T(function(static_cast<float>(x))); }
// T holds one, T2 two of them.
#define TEGULA_HALVES(T, T2, kind)                                                                                     \
  struct __align__(2) T {                                                                                              \
    halves::Bits bits;                                                                                                 \
    T() = default;                                                                                                     \
    TEGULA_COPIED(T, bits = other.bits)                                                                                \
    TEGULA_OF_HALVES T(float x) : bits(halves::to_##kind(x)) {}                                                        \
    TEGULA_HALF_FROM(T, kind, double) TEGULA_HALF_FROM(T, kind, int) TEGULA_HALF_FROM(T, kind, unsigned)               \
    TEGULA_HALF_FROM(T, kind, long) TEGULA_HALF_FROM(T, kind, unsigned long)                                           \
    TEGULA_HALF_FROM(T, kind, long long) TEGULA_HALF_FROM(T, kind, unsigned long long)                                 \
    static TEGULA_OF_HALVES T of(halves::Bits bits) { T x; x.bits = bits; return x; }                                  \
    TEGULA_OF_HALVES operator float() const { TEGULA_TOUCH(this, kRead); return halves::from_##kind(bits); }           \
    TEGULA_OF_HALVES T& operator=(const T& other) {                                                                    \
      TEGULA_TOUCH(&other, kRead), TEGULA_TOUCH(this, kWrite);                                                         \
      bits = other.bits;                                                                                               \
      return *this;                                                                                                    \
    }                                                                                                                  \
    TEGULA_HALF_ASSIGNED(T, +=, halves::kind##_add) TEGULA_HALF_ASSIGNED(T, -=, halves::kind##_sub)                    \
    TEGULA_HALF_ASSIGNED(T, *=, halves::kind##_mul)                                                                    \
    TEGULA_OF_HALVES T& operator/=(const T& other) { return *this = T(static_cast<float>(*this) / static_cast<float>(other)); } \
  };                                                                                                                   \
  TEGULA_OF_HALVES T operator+(T a, T b) { return T::of(halves::kind##_add(a.bits, b.bits)); }                         \
  TEGULA_OF_HALVES T operator-(T a, T b) { return T::of(halves::kind##_sub(a.bits, b.bits)); }                         \
  TEGULA_OF_HALVES T operator*(T a, T b) { return T::of(halves::kind##_mul(a.bits, b.bits)); }                         \
  TEGULA_OF_HALVES T operator/(T a, T b) { return T(static_cast<float>(a) / static_cast<float>(b)); }                  \
  TEGULA_OF_HALVES T operator-(T a) { return T::of(a.bits ^ 0x8000); }                                                 \
  TEGULA_OF_HALVES T __hadd(T a, T b) { return a + b; }                                                                \
  TEGULA_OF_HALVES T __hsub(T a, T b) { return a - b; }                                                                \
  TEGULA_OF_HALVES T __hmul(T a, T b) { return a * b; }                                                                \
  TEGULA_OF_HALVES T __hdiv(T a, T b) { return a / b; }                                                                \
  TEGULA_OF_HALVES T __hfma(T a, T b, T c) { return T::of(halves::kind##_fma(a.bits, b.bits, c.bits)); }               \
  TEGULA_OF_HALVES T __hneg(T a) { return -a; }                                                                        \
  TEGULA_OF_HALVES T __habs(T a) { return T::of(a.bits & 0x7fff); }                                                    \
  TEGULA_OF_HALVES T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                                       \
  TEGULA_OF_HALVES T __hmin(T a, T b) { return T(fminf(a, b)); }                                                       \
  TEGULA_OF_HALVES bool __hisnan(T a) { const float x = a; return x != x; }                                             \
  TEGULA_HALF_COMPARED(T, ==, __heq) TEGULA_HALF_COMPARED(T, !=, __hne) TEGULA_HALF_COMPARED(T, <, __hlt)              \
  TEGULA_HALF_COMPARED(T, <=, __hle) TEGULA_HALF_COMPARED(T, >, __hgt) TEGULA_HALF_COMPARED(T, >=, __hge)              \
  TEGULA_HALF_BY_FLOAT(T, hsqrt, sqrtf) TEGULA_HALF_BY_FLOAT(T, hrsqrt, rsqrtf) TEGULA_HALF_BY_FLOAT(T, hexp, expf)    \
  TEGULA_HALF_BY_FLOAT(T, hexp2, exp2f) TEGULA_HALF_BY_FLOAT(T, hlog, logf) TEGULA_HALF_BY_FLOAT(T, hlog2, log2f)      \
  TEGULA_HALF_BY_FLOAT(T, hsin, sinf) TEGULA_HALF_BY_FLOAT(T, hcos, cosf) TEGULA_HALF_BY_FLOAT(T, hfloor, floorf)      \
  TEGULA_HALF_BY_FLOAT(T, hceil, ceilf) TEGULA_HALF_BY_FLOAT(T, htrunc, truncf) TEGULA_HALF_BY_FLOAT(T, hrint, rintf)  \
  struct __align__(4) T2 {                                                                                             \
    T x, y;                                                                                                            \
    T2() = default;                                                                                                    \
    TEGULA_COPIED(T2, x.bits = other.x.bits, y.bits = other.y.bits)                                                    \
    TEGULA_OF_HALVES T2(T x, T y) : x(x), y(y) {}                                                                      \
    TEGULA_OF_HALVES T2& operator=(const T2& other) {                                                                  \
      TEGULA_TOUCH(&other, kRead), TEGULA_TOUCH(this, kWrite);                                                         \
      x.bits = other.x.bits, y.bits = other.y.bits;                                                                    \
      return *this;                                                                                                    \
    }                                                                                                                  \
  };                                                                                                                   \
  TEGULA_OF_HALVES T2 operator+(T2 a, T2 b) { return T2(a.x + b.x, a.y + b.y); }                                       \
  TEGULA_OF_HALVES T2 operator-(T2 a, T2 b) { return T2(a.x - b.x, a.y - b.y); }                                       \
  TEGULA_OF_HALVES T2 operator*(T2 a, T2 b) { return T2(a.x * b.x, a.y * b.y); }                                       \
  TEGULA_OF_HALVES T2 operator/(T2 a, T2 b) { return T2(a.x / b.x, a.y / b.y); }                                       \
  TEGULA_OF_HALVES T2 operator-(T2 a) { return T2(-a.x, -a.y); }                                                       \
  TEGULA_OF_HALVES T2 __hadd2(T2 a, T2 b) { return a + b; }                                                            \
  TEGULA_OF_HALVES T2 __hsub2(T2 a, T2 b) { return a - b; }                                                            \
  TEGULA_OF_HALVES T2 __hmul2(T2 a, T2 b) { return a * b; }                                                            \
  TEGULA_OF_HALVES T2 __h2div(T2 a, T2 b) { return a / b; }                                                            \
  TEGULA_OF_HALVES T2 __hfma2(T2 a, T2 b, T2 c) { return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }           \
  TEGULA_OF_HALVES T2 __hneg2(T2 a) { return -a; }                                                                     \
  TEGULA_OF_HALVES T2 __habs2(T2 a) { return T2(__habs(a.x), __habs(a.y)); }                                           \
  TEGULA_OF_HALVES T2 __hmax2(T2 a, T2 b) { return T2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }                           \
  TEGULA_OF_HALVES T2 __hmin2(T2 a, T2 b) { return T2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }                           \
  TEGULA_OF_HALVES float __low2float(T2 a) { return a.x; }                                                             \
  TEGULA_OF_HALVES float __high2float(T2 a) { return a.y; }
TEGULA_HALVES(__half, __half2, half)
TEGULA_HALVES(__nv_bfloat16, __nv_bfloat162, bfloat16)
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define TEGULA_HALF_NAMES(T, T2, to, from, to2, pair, from2, halves2, one2, low, high)     \
  TEGULA_OF_HALVES T to(float x) { return T(x); }                                          \
  TEGULA_OF_HALVES T to##_rn(float x) { return T(x); }                                     \
  TEGULA_OF_HALVES float from(T x) { return x; }                                           \
  TEGULA_OF_HALVES T2 to2##_rn(float x) { return T2(x, x); }                               \
  TEGULA_OF_HALVES T2 pair(float x, float y) { return T2(x, y); }                          \
  TEGULA_OF_HALVES float2 from2(T2 a) { return make_float2(a.x, a.y); }                    \
  TEGULA_OF_HALVES T2 halves2(T x, T y) { return T2(x, y); }                               \
  TEGULA_OF_HALVES T2 one2(T x) { return T2(x, x); }                                       \
  TEGULA_OF_HALVES T low(T2 a) { return a.x; }                                             \
  TEGULA_OF_HALVES T high(T2 a) { return a.y; }
TEGULA_HALF_NAMES(__half, __half2, __float2half, __half2float, __float2half2, __floats2half2_rn, __half22float2, __halves2half2,
                  __half2half2, __low2half, __high2half)
TEGULA_HALF_NAMES(__nv_bfloat16, __nv_bfloat162, __float2bfloat16, __bfloat162float, __float2bfloat162, __floats2bfloat162_rn,
                  __bfloat1622float2, __halves2bfloat162, __bfloat162bfloat162, __low2bfloat16, __high2bfloat16)
TEGULA_OF_HALVES __half2 __float22half2_rn(float2 a) { return __half2(a.x, a.y); }
TEGULA_OF_HALVES __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __nv_bfloat162(a.x, a.y); }
TEGULA_OF_HALVES __half2 make_half2(__half x, __half y) { return __half2(x, y); }
TEGULA_OF_HALVES __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
TEGULA_OF_HALVES __half __ushort_as_half(unsigned short bits) { return __half::of(bits); }
TEGULA_OF_HALVES unsigned short __half_as_ushort(__half x) { return x.bits; }
TEGULA_OF_HALVES __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16::of(bits); }
TEGULA_OF_HALVES unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }

#ifndef TEGULA_EMULATED
#define TEGULA_HALF_SHUFFLED(T, name, Distance)                                                        \
  TEGULA_OF_HALVES T name(unsigned mask, T x, Distance by, int width = 32) {                           \
    return T::of(static_cast<halves::Bits>(name(mask, static_cast<unsigned>(x.bits), by, width)));     \
  }
#define TEGULA_HALF_EXCHANGES(T)                                                                             \
  TEGULA_HALF_SHUFFLED(T, __shfl_sync, int) TEGULA_HALF_SHUFFLED(T, __shfl_xor_sync, int)                    \
  TEGULA_HALF_SHUFFLED(T, __shfl_up_sync, unsigned) TEGULA_HALF_SHUFFLED(T, __shfl_down_sync, unsigned)      \
  TEGULA_OF_HALVES T __ldg(const T* place) { return T::of(__ldg(reinterpret_cast<const halves::Bits*>(place))); }
TEGULA_HALF_EXCHANGES(__half)
TEGULA_HALF_EXCHANGES(__nv_bfloat16)
TEGULA_OF_HALVES __half atomicAdd(__half* place, __half x) {
  halves::Bits old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(place), "h"(x.bits) : "memory");
  return __half::of(old);
}
TEGULA_OF_HALVES __nv_bfloat16 atomicAdd(__nv_bfloat16* place, __nv_bfloat16 x) {
  auto* const number = reinterpret_cast<unsigned short*>(place);
  unsigned short before = *reinterpret_cast<volatile unsigned short*>(number), seen;
  do {
    seen = before;
    before = atomicCAS(number, seen, halves::bfloat16_add(seen, x.bits));
  } while (before != seen);
  return __nv_bfloat16::of(before);
}
#endif
#pragma endregion
