// CUDA's mathematics, conversions and vectors for the system's C++ compiler: behind the words of words.cuh.

#pragma region Math
// ---- Mathematics: what C has stands in math.h; here are CUDA's overloads and its own functions
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define TEGULA_ONE(name) TEGULA_WORD float name(float x) { return name##f(x); }
#define TEGULA_TWO(name) TEGULA_WORD float name(float x, float y) { return name##f(x, y); }
TEGULA_ONE(sqrt) TEGULA_ONE(cbrt) TEGULA_ONE(exp) TEGULA_ONE(exp2) TEGULA_ONE(expm1) TEGULA_ONE(log) TEGULA_ONE(log2) TEGULA_ONE(log10)
TEGULA_ONE(log1p) TEGULA_ONE(sin) TEGULA_ONE(cos) TEGULA_ONE(tan) TEGULA_ONE(asin) TEGULA_ONE(acos) TEGULA_ONE(atan) TEGULA_ONE(sinh)
TEGULA_ONE(cosh) TEGULA_ONE(tanh) TEGULA_ONE(asinh) TEGULA_ONE(acosh) TEGULA_ONE(atanh) TEGULA_ONE(erf) TEGULA_ONE(erfc)
TEGULA_ONE(lgamma) TEGULA_ONE(tgamma) TEGULA_ONE(floor) TEGULA_ONE(ceil) TEGULA_ONE(trunc) TEGULA_ONE(round) TEGULA_ONE(rint) TEGULA_ONE(fabs)
TEGULA_TWO(pow) TEGULA_TWO(atan2) TEGULA_TWO(fmod) TEGULA_TWO(fmax) TEGULA_TWO(fmin) TEGULA_TWO(hypot) TEGULA_TWO(copysign) TEGULA_TWO(fdim)
// Integers are doubles to these; of two numbers of which one is no float, both are.
namespace emulated {
template <class T>
struct DoubleOf {};
#define TEGULA_DOUBLE_OF(T) \
  template <>              \
  struct DoubleOf<T> { using Type = double; };
TEGULA_DOUBLE_OF(bool) TEGULA_DOUBLE_OF(char) TEGULA_DOUBLE_OF(signed char) TEGULA_DOUBLE_OF(unsigned char) TEGULA_DOUBLE_OF(short)
TEGULA_DOUBLE_OF(unsigned short) TEGULA_DOUBLE_OF(int) TEGULA_DOUBLE_OF(unsigned) TEGULA_DOUBLE_OF(long) TEGULA_DOUBLE_OF(unsigned long)
TEGULA_DOUBLE_OF(long long) TEGULA_DOUBLE_OF(unsigned long long)
template <class T>
struct AnyDoubleOf : DoubleOf<T> {};
template <>
struct AnyDoubleOf<float> { using Type = double; };
template <>
struct AnyDoubleOf<double> { using Type = double; };
}  // namespace emulated
#define TEGULA_ONE_OF_INTEGERS(name) \
  template <class T>                 \
  TEGULA_WORD typename emulated::DoubleOf<T>::Type name(T x) { return name(static_cast<double>(x)); }
#define TEGULA_TWO_OF_ANY(name)                                                                                              \
  template <class A, class B>                                                                                                \
  TEGULA_WORD decltype(typename emulated::AnyDoubleOf<A>::Type() + typename emulated::AnyDoubleOf<B>::Type()) name(A x, B y) { \
    return name(static_cast<double>(x), static_cast<double>(y));                                                             \
  }
TEGULA_ONE_OF_INTEGERS(sqrt) TEGULA_ONE_OF_INTEGERS(exp) TEGULA_ONE_OF_INTEGERS(log) TEGULA_ONE_OF_INTEGERS(log2)
TEGULA_ONE_OF_INTEGERS(log10) TEGULA_ONE_OF_INTEGERS(sin) TEGULA_ONE_OF_INTEGERS(cos) TEGULA_ONE_OF_INTEGERS(floor)
TEGULA_ONE_OF_INTEGERS(ceil) TEGULA_ONE_OF_INTEGERS(fabs)
TEGULA_TWO_OF_ANY(pow) TEGULA_TWO_OF_ANY(atan2) TEGULA_TWO_OF_ANY(fmod) TEGULA_TWO_OF_ANY(fmax) TEGULA_TWO_OF_ANY(fmin)
TEGULA_WORD float fma(float x, float y, float z) { return fmaf(x, y, z); }
TEGULA_WORD int abs(int x) { return x < 0 ? -x : x; }
TEGULA_WORD long long abs(long long x) { return x < 0 ? -x : x; }
TEGULA_WORD float abs(float x) { return fabsf(x); }
TEGULA_WORD double abs(double x) { return fabs(x); }
TEGULA_WORD bool isnan(double x) { return __builtin_isnan(x); }
TEGULA_WORD bool isinf(double x) { return __builtin_isinf(x); }
TEGULA_WORD bool isfinite(double x) { return __builtin_isfinite(x); }
TEGULA_WORD bool signbit(double x) { return __builtin_signbit(x); }
namespace emulated {
/// The type of min(a, b) as CUDA has it: numbers of C, one kind with another.
template <class A, class B>
using Common = decltype(true ? A() : B());
}  // namespace emulated
template <class A, class B>
TEGULA_WORD emulated::Common<A, B> min(A a, B b) {
  const emulated::Common<A, B> x = a, y = b;
  if (x != x) return y;
  return y < x ? y : x;
}
template <class A, class B>
TEGULA_WORD emulated::Common<A, B> max(A a, B b) {
  const emulated::Common<A, B> x = a, y = b;
  if (x != x) return y;
  return x < y ? y : x;
}
TEGULA_WORD float rsqrtf(float x) { return 1.0f / sqrtf(x); }
TEGULA_WORD double rsqrt(double x) { return 1.0 / sqrt(x); }
TEGULA_WORD float rsqrt(float x) { return rsqrtf(x); }
TEGULA_WORD double erfinv(double y) {  // Newton's method from Winitzki's start
  if (!(fabs(y) < 1)) return fabs(y) == 1 ? copysign(HUGE_VAL, y) : NAN;
  if (y == 0) return y;
  const double pi = 3.14159265358979323846, a = 0.147, l = log1p(-y * y), b = 2 / (pi * a) + l / 2;
  double x = copysign(sqrt(sqrt(b * b - l / a) - b), y);
  for (int i = 0; i < 4; ++i) {
    const double error = fabs(y) > 0.5 ? copysign(1.0, y) * ((1 - fabs(y)) - erfc(fabs(x))) : erf(x) - y;
    x -= error / (1.12837916709551257390 * exp(-x * x));
  }
  return x;
}
TEGULA_WORD float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
TEGULA_WORD float saturate(float x) { return x < 0 || x != x ? 0.0f : x > 1 ? 1.0f : x; }
TEGULA_WORD float __saturatef(float x) { return saturate(x); }
TEGULA_WORD float rcbrtf(float x) { return 1.0f / cbrtf(x); }
TEGULA_WORD double rcbrt(double x) { return 1.0 / cbrt(x); }
TEGULA_WORD float normcdff(float x) { return 0.5f * erfcf(x * -0.70710678118654752440f); }
TEGULA_WORD double normcdf(double x) { return 0.5 * erfc(x * -0.70710678118654752440); }
TEGULA_WORD void sincospif(float x, float* s, float* c) { sincosf(3.14159265358979323846f * x, s, c); }
TEGULA_WORD float sinpif(float x) { return sinf(3.14159265358979323846f * fmodf(x, 2.0f)); }
TEGULA_WORD float cospif(float x) { return cosf(3.14159265358979323846f * fmodf(x, 2.0f)); }
TEGULA_WORD double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
TEGULA_WORD double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
#define TEGULA_FAST(name, of) TEGULA_WORD float name(float x) { return of(x); }
TEGULA_FAST(__expf, expf) TEGULA_FAST(__exp10f, exp10f) TEGULA_FAST(__logf, logf) TEGULA_FAST(__log2f, log2f) TEGULA_FAST(__log10f, log10f)
TEGULA_FAST(__sinf, sinf) TEGULA_FAST(__cosf, cosf) TEGULA_FAST(__tanf, tanf) TEGULA_FAST(__frsqrt_rn, rsqrtf)
TEGULA_FAST(__fsqrt_rn, sqrtf) TEGULA_FAST(__frcp_rn, 1.0f /)
TEGULA_WORD void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
TEGULA_WORD float __powf(float x, float y) { return powf(x, y); }
TEGULA_WORD float __fdividef(float x, float y) { return x / y; }
TEGULA_WORD float fdividef(float x, float y) { return x / y; }
TEGULA_WORD float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
TEGULA_WORD double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
TEGULA_WORD double __dsqrt_rn(double x) { return sqrt(x); }
#define TEGULA_ROUNDED(float_name, double_name, sign)                         \
  TEGULA_WORD float float_name(float x, float y) { return x sign y; }         \
  TEGULA_WORD double double_name(double x, double y) { return x sign y; }
TEGULA_ROUNDED(__fadd_rn, __dadd_rn, +) TEGULA_ROUNDED(__fsub_rn, __dsub_rn, -) TEGULA_ROUNDED(__fmul_rn, __dmul_rn, *)
TEGULA_ROUNDED(__fdiv_rn, __ddiv_rn, /)
// ---- From one type of numbers to another: to integers, what is beyond them is the nearest one, and NaN is 0
namespace emulated {
template <class T, T kLeast, T kMost>
TEGULA_WORD T whole(double x) {
  if (x != x) return 0;
  return x <= static_cast<double>(kLeast) ? kLeast : x >= static_cast<double>(kMost) ? kMost : static_cast<T>(x);
}
}  // namespace emulated
#define TEGULA_TO_WHOLE(from, to, To, kLeast, kMost)                                                             \
  TEGULA_WORD To __##from##2##to##_rn(from x) { return emulated::whole<To, kLeast, kMost>(rint(x)); }                  \
  TEGULA_WORD To __##from##2##to##_rz(from x) { return emulated::whole<To, kLeast, kMost>(trunc(x)); }                 \
  TEGULA_WORD To __##from##2##to##_ru(from x) { return emulated::whole<To, kLeast, kMost>(ceil(x)); }                  \
  TEGULA_WORD To __##from##2##to##_rd(from x) { return emulated::whole<To, kLeast, kMost>(floor(x)); }
TEGULA_TO_WHOLE(float, int, int, INT_MIN, INT_MAX) TEGULA_TO_WHOLE(double, int, int, INT_MIN, INT_MAX)
TEGULA_TO_WHOLE(float, uint, unsigned, 0, UINT_MAX) TEGULA_TO_WHOLE(double, uint, unsigned, 0, UINT_MAX)
TEGULA_TO_WHOLE(float, ll, long long, LLONG_MIN, LLONG_MAX) TEGULA_TO_WHOLE(double, ll, long long, LLONG_MIN, LLONG_MAX)
TEGULA_TO_WHOLE(float, ull, unsigned long long, 0, ULLONG_MAX)
TEGULA_TO_WHOLE(double, ull, unsigned long long, 0, ULLONG_MAX)
TEGULA_WORD float __int2float_rn(int x) { return static_cast<float>(x); }
TEGULA_WORD float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
TEGULA_WORD float __ll2float_rn(long long x) { return static_cast<float>(x); }
TEGULA_WORD float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
TEGULA_WORD double __int2double_rn(int x) { return x; }
TEGULA_WORD double __uint2double_rn(unsigned x) { return x; }
TEGULA_WORD double __ll2double_rn(long long x) { return static_cast<double>(x); }
TEGULA_WORD float __double2float_rn(double x) { return static_cast<float>(x); }
#pragma endregion

#pragma region Vectors
// ---- float2, int4, ...
// Copies say themselves what they touch: of a vector that is an argument, or that a function gives, the compiler does not.
#define TEGULA_COPIED_VECTOR(name)                                                                                                  \
  name() = default;                                                                                                                \
  TEGULA_WORD name(const name& other) {                                                                                            \
    emulated::checked_access(&other, static_cast<int>(sizeof other), emulated::kRead, __builtin_return_address(0));                \
    __builtin_memcpy(this, &other, sizeof other);                                                                                  \
  }                                                                                                                                \
  TEGULA_WORD name& operator=(const name& other) {                                                                                 \
    emulated::checked_access(&other, static_cast<int>(sizeof other), emulated::kRead, __builtin_return_address(0));                \
    emulated::checked_access(this, static_cast<int>(sizeof other), emulated::kWrite, __builtin_return_address(0));                 \
    __builtin_memcpy(this, &other, sizeof other);                                                                                  \
    return *this;                                                                                                                  \
  }
#define TEGULA_VECTORS(name, T, bytes)                                                                                            \
  struct name##1 { T x; };                                                                                                        \
  struct __attribute__((aligned(2 * bytes))) name##2 {                                                                            \
    T x, y;                                                                                                                       \
    TEGULA_WORD name##2(T x, T y = 0) : x(x), y(y) {}                                                                             \
    TEGULA_COPIED_VECTOR(name##2)                                                                                                 \
  };                                                                                                                              \
  struct name##3 {                                                                                                                \
    T x, y, z;                                                                                                                    \
    TEGULA_WORD name##3(T x, T y = 0, T z = 0) : x(x), y(y), z(z) {}                                                              \
    TEGULA_COPIED_VECTOR(name##3)                                                                                                 \
  };                                                                                                                              \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 {                                                      \
    T x, y, z, w;                                                                                                                 \
    TEGULA_WORD name##4(T x, T y = 0, T z = 0, T w = 0) : x(x), y(y), z(z), w(w) {}                                               \
    TEGULA_COPIED_VECTOR(name##4)                                                                                                 \
  };                                                                                                                              \
  TEGULA_WORD name##1 make_##name##1(T x) { return {x}; }                                                                         \
  TEGULA_WORD name##2 make_##name##2(T x, T y) { return {x, y}; }                                                                 \
  TEGULA_WORD name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                                         \
  TEGULA_WORD name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
TEGULA_VECTORS(char, signed char, 1)
TEGULA_VECTORS(uchar, unsigned char, 1)
TEGULA_VECTORS(short, short, 2)
TEGULA_VECTORS(ushort, unsigned short, 2)
TEGULA_VECTORS(int, int, 4)
TEGULA_VECTORS(uint, unsigned int, 4)
TEGULA_VECTORS(float, float, 4)
TEGULA_VECTORS(long, long, 8)
TEGULA_VECTORS(ulong, unsigned long, 8)
TEGULA_VECTORS(longlong, long long, 8)
TEGULA_VECTORS(ulonglong, unsigned long long, 8)
TEGULA_VECTORS(double, double, 8)
#pragma endregion
