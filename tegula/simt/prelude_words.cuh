// Words that CUDA has no function for.

#pragma region Words
// ---- Words without a CUDA function of that meaning.
template <class T> __device__ inline T sign_of(T x) { return static_cast<T>((x > 0) - (x < 0)); }
__device__ inline double magnitude(double x) { return fabs(x); }
__device__ inline float magnitude(float x) { return fabsf(x); }
__device__ inline long long magnitude(long long x) { return x < 0 ? static_cast<long long>(0ull - static_cast<unsigned long long>(x)) : x; }
__device__ inline unsigned long long magnitude(unsigned long long x) { return x; }
__device__ inline unsigned int magnitude(unsigned int x) { return x; }
__device__ inline int magnitude(int x) { return x < 0 ? static_cast<int>(0u - static_cast<unsigned int>(x)) : x; }
template <class T> __device__ inline bool is_nan(T x) { return x != x; }
template <class T> __device__ inline bool is_infinite(T x) { return magnitude(x) == infinite<T>(); }

// x / s for many x, as x * reciprocal(s) * reach(s): within two units in the last place, also where 1 / s is too large a number.
__device__ inline float reach(float s) { return fabsf(s) < 1.17549435e-38f ? 18446744073709551616.0f : 1.0f; }
__device__ inline float reciprocal(float s) { return 1.0f / (s * reach(s)); }
// The same with the remainder made good (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990): equal to
// the division but for the last bit of quotients below 2^-100, and of those by numbers beyond 2^-100 and 2^100.
__device__ inline float quotient(float x, float s) {
  const float inverse = reciprocal(s), q = x * inverse * reach(s), size = fabsf(s);
  const bool holds = size > 7.88860905e-31f && size < 1.26765060e30f && fabsf(q) < infinite<float>();
  return holds ? fmaf(fmaf(-q, s, x), inverse, q) : q;
}

// Returns one of two values that are both there.
template <class T> __device__ inline T chosen(bool first, T a, T b) { return first ? a : b; }

// NaN wins.
template <class T> __device__ inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> __device__ inline T larger(T a, T b) { return a < b ? b : a; }
__device__ inline double smaller(double a, double b) { return a != a || b != b ? a + b : fmin(a, b); }
__device__ inline double larger(double a, double b) { return a != a || b != b ? a + b : fmax(a, b); }
#if !defined(TEGULA_EMULATED) && __CUDA_ARCH__ >= 800
__device__ inline float smaller(float a, float b) { float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
__device__ inline float larger(float a, float b) { float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
#else
__device__ inline float smaller(float a, float b) { return a != a || b != b ? a + b : fminf(a, b); }
__device__ inline float larger(float a, float b) { return a != a || b != b ? a + b : fmaxf(a, b); }
#endif

// Division by 0 gives 0. Most indices are small: 32-bit division is several times as fast.
__device__ inline int divided(int a, int b) { return b == 0 ? 0 : b == -1 ? static_cast<int>(0u - static_cast<unsigned int>(a)) : a / b; }
__device__ inline int remainder_of(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }
// Divides numbers that are at least 0 and below 2^32.
__device__ inline long long divided_short(long long a, long long b) { return b == 0 ? 0 : static_cast<unsigned int>(a) / static_cast<unsigned int>(b); }
__device__ inline long long remainder_short(long long a, long long b) { return b == 0 ? 0 : static_cast<unsigned int>(a) % static_cast<unsigned int>(b); }
__device__ inline long long divided(long long a, long long b) {
  if (((a | b) >> 32) == 0) return divided_short(a, b);
  return b == 0 ? 0 : b == -1 ? static_cast<long long>(0ull - static_cast<unsigned long long>(a)) : a / b;
}
__device__ inline long long remainder_of(long long a, long long b) {
  if (((a | b) >> 32) == 0) return remainder_short(a, b);
  return b == 0 || b == -1 ? 0 : a % b;
}
__device__ inline unsigned int divided(unsigned int a, unsigned int b) { return b == 0 ? 0 : a / b; }
__device__ inline unsigned int remainder_of(unsigned int a, unsigned int b) { return b == 0 ? 0 : a % b; }
__device__ inline unsigned long long divided(unsigned long long a, unsigned long long b) { return b == 0 ? 0 : a / b; }
__device__ inline unsigned long long remainder_of(unsigned long long a, unsigned long long b) { return b == 0 ? 0 : a % b; }
__device__ inline unsigned int shifted_left(unsigned int a, unsigned int b) { return a << (b & 31); }
__device__ inline unsigned long long shifted_left(unsigned long long a, unsigned long long b) { return a << (b & 63); }
__device__ inline int shifted_left(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) << (b & 31)); }
__device__ inline long long shifted_left(long long a, long long b) { return static_cast<long long>(static_cast<unsigned long long>(a) << (b & 63)); }
__device__ inline unsigned int upper_half(unsigned int a, unsigned int b) { return __umulhi(a, b); }
__device__ inline unsigned long long upper_half(unsigned long long a, unsigned long long b) {
#ifndef TEGULA_EMULATED
  return __umul64hi(a, b);
#else
  const unsigned long long low = 0xffffffffull, left = (a >> 32) * (b & low), right = (a & low) * (b >> 32);
  return (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + ((((a & low) * (b & low)) >> 32) + (left & low) + (right & low) >> 32);
#endif
}
__device__ inline long long upper_half(long long a, long long b) {
  return static_cast<long long>(upper_half(static_cast<unsigned long long>(a), static_cast<unsigned long long>(b)));
}
__device__ inline int upper_half(int a, int b) { return static_cast<int>(__umulhi(static_cast<unsigned int>(a), static_cast<unsigned int>(b))); }

__device__ inline unsigned int bits_set(unsigned int x) { return static_cast<unsigned int>(__popc(x)); }
__device__ inline int bits_set(int x) { return __popc(static_cast<unsigned int>(x)); }
__device__ inline unsigned long long bits_set(unsigned long long x) { return static_cast<unsigned long long>(__popcll(x)); }
__device__ inline long long bits_set(long long x) { return __popcll(static_cast<unsigned long long>(x)); }

/// An index as a coordinate of a tile; -1 where it cannot be one.
__device__ inline int place_of(long long x) { return (x >> 31) == 0 ? static_cast<int>(x) : -1; }

__device__ inline int same_bits(float x, int) { return __float_as_int(x); }
__device__ inline float same_bits(int x, float) { return __int_as_float(x); }
__device__ inline unsigned int same_bits(float x, unsigned int) { return static_cast<unsigned int>(__float_as_int(x)); }
__device__ inline float same_bits(unsigned int x, float) { return __int_as_float(static_cast<int>(x)); }
__device__ inline unsigned int same_bits(int x, unsigned int) { return static_cast<unsigned int>(x); }
__device__ inline int same_bits(unsigned int x, int) { return static_cast<int>(x); }
__device__ inline unsigned long long same_bits(double x, unsigned long long) { return static_cast<unsigned long long>(__double_as_longlong(x)); }
__device__ inline double same_bits(unsigned long long x, double) { return __longlong_as_double(static_cast<long long>(x)); }
__device__ inline unsigned long long same_bits(long long x, unsigned long long) { return static_cast<unsigned long long>(x); }
__device__ inline long long same_bits(unsigned long long x, long long) { return static_cast<long long>(x); }
__device__ inline long long same_bits(double x, long long) { return __double_as_longlong(x); }
__device__ inline double same_bits(long long x, double) { return __longlong_as_double(x); }
template <class T> __device__ inline T same_bits(T x, T) { return x; }

// For results that are stored as halves. ex2.approx is good to 2^-22; the product before it costs |x| * 2^-24 more.
#ifndef TEGULA_EMULATED
__device__ inline float quick_exp2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ inline float quick_reciprocal(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
#else
__device__ inline float quick_exp2(float x) { return exp2f(x); }
__device__ inline float quick_reciprocal(float x) { return 1.0f / x; }
#endif
__device__ inline float quick_exp(float x) { return quick_exp2(x * 1.44269504f); }
__device__ inline float quick_sigmoid(float x) { return quick_reciprocal(1.0f + quick_exp2(x * -1.44269504f)); }
__device__ inline float quick_tanh(float x) {
  const float t = fabsf(x), e = quick_exp2(t * -2.88539008f);
  return t < 0.01f ? x : copysignf((1.0f - e) * quick_reciprocal(1.0f + e), x);
}
// 1 - 2^q(|x|), where q approximates log2(erfc) such that the result is right to 7e-7; near 0 the first two terms of the series.
__device__ inline float quick_erf(float x) {
  const float t = fabsf(x);
  float q = -0.00294411207f;
  q = fmaf(q, t, 0.0295898941f);
  q = fmaf(q, t, -0.148665474f);
  q = fmaf(q, t, -0.918509425f);
  q = fmaf(q, t, -1.627889f);
  const float y = copysignf(1.0f - quick_exp2(q * t), x);
  return t < 0.06f ? x * fmaf(x * x, -0.376126389f, 1.12837917f) : y;
}
/// The same for f16, whose steps below 1 are finer: right to 1e-7, of which rounding is most.
__device__ inline float fine_erf(float x) {
  const float t = fabsf(x);
  float q = -4.51357611e-05f;
  q = fmaf(q, t, 0.000443628378f);
  q = fmaf(q, t, -0.00148314795f);
  q = fmaf(q, t, -0.000785367344f);
  q = fmaf(q, t, 0.0282636257f);
  q = fmaf(q, t, -0.148486526f);
  q = fmaf(q, t, -0.918415225f);
  q = fmaf(q, t, -1.62790869f);
  const float y = copysignf(1.0f - quick_exp2(q * t), x);
  return t < 0.06f ? x * fmaf(x * x, -0.376126389f, 1.12837917f) : y;
}

// Neither overflows nor loses the digits of a small result.
__device__ inline float sigmoid(float x) { const float e = expf(-fabsf(x)), y = 1.0f / (1.0f + e); return x >= 0 ? y : x < 0 ? e * y : x; }
__device__ inline double sigmoid(double x) { const double e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x; }
__device__ inline double log_gamma(double x) { return lgamma(x); }
__device__ inline float log_gamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }
// Recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.18); reflection (6.3.7) for negative x.
__device__ inline double digamma(double x) {
  if (x == 0) return copysign(infinite<double>(), -x);
  double sum = 0;
  if (x < 0) {
    if (x == floor(x)) return not_a_number<double>();
    sum = -3.14159265358979323846 / tan(3.14159265358979323846 * (x - rint(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);
  const double series = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760))))));
  return sum + log(x) - 0.5 / x - series;
}
__device__ inline float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the four words with this counter.
struct Philox { unsigned int x[4]; };
template <int Unrolled> __device__ inline Philox philox(long long seed, unsigned long long block) {
  unsigned int x = static_cast<unsigned int>(block), y = static_cast<unsigned int>(block >> 32), z = 0, w = 0;
  unsigned int k0 = static_cast<unsigned int>(seed), k1 = static_cast<unsigned int>(static_cast<unsigned long long>(seed) >> 32);
#pragma unroll Unrolled
  for (int round = 0; round < 10; ++round) {
    const unsigned int high_x = __umulhi(0xD2511F53u, x), low_x = 0xD2511F53u * x, high_z = __umulhi(0xCD9E8D57u, z), low_z = 0xCD9E8D57u * z;
    x = high_z ^ y ^ k0, y = low_z, z = high_x ^ w ^ k1, w = low_x;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{x, y, z, w}};
}
/// A single word is code for each element of a tile: it is kept short.
__device__ inline int philox_word(long long seed, long long index) {
  const Philox words = philox<2>(seed, static_cast<unsigned long long>(index) / 4);
  const int i = static_cast<int>(index & 3);
  return static_cast<int>(i == 0 ? words.x[0] : i == 1 ? words.x[1] : i == 2 ? words.x[2] : words.x[3]);
}
/// Words index … index + 3, where index is a multiple of 4.
__device__ inline void philox_words(long long seed, long long index, int* x) {
  const Philox words = philox<10>(seed, static_cast<unsigned long long>(index) / 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = static_cast<int>(words.x[i]);
}
#pragma endregion
