// Stored types, wide accesses and exchange between threads. Everything that needs PTX has a portable twin under TEGULA_EMULATED, where the
// tests run the same source on the CPU.

#pragma region Types
#ifndef TEGULA_EMULATED
#define TEGULA_SHARED extern __shared__ __align__(128) unsigned char shared[]
#endif

struct Failure { long long id; long long value; Failure* report; };

// Stored types. Arithmetic happens in double, float, long long, int, their unsigned twins and bool.
struct Float16 { unsigned short bits; };
struct BFloat16 { unsigned short bits; };
struct Boolean { unsigned char byte; };
template <int kMantissa> struct Float8 { unsigned char bits; };
typedef Float8<3> E4M3;
typedef Float8<2> E5M2;

#ifndef TEGULA_EMULATED
__device__ inline float widen(Float16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ inline float widen(BFloat16 x) { return __int_as_float(static_cast<int>(x.bits) << 16); }
__device__ inline void narrow(float x, Float16& y) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); }
// Converts a number as one of two: for one alone the instruction has an eighth of the rate.
#if __CUDA_ARCH__ >= 800
__device__ inline unsigned int pair_of(float high, float low) {
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#else
__device__ inline unsigned int rounded_half(float x) {
  const unsigned int bits = __float_as_uint(x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
__device__ inline unsigned int pair_of(float high, float low) { return rounded_half(high) << 16 | rounded_half(low); }
#endif
__device__ inline void narrow(float x, BFloat16& y) { y.bits = static_cast<unsigned short>(pair_of(0.0f, x)); }
// Two at a time, in one register; y is aligned to 4 bytes.
__device__ inline void narrow(const float* x, Float16* y) {
#if __CUDA_ARCH__ >= 800
  unsigned int pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x[1]), "f"(x[0]));
  *reinterpret_cast<unsigned int*>(y) = pair;
#else
  narrow(x[0], y[0]), narrow(x[1], y[1]);
#endif
}
__device__ inline void narrow(const float* x, BFloat16* y) { *reinterpret_cast<unsigned int*>(y) = pair_of(x[1], x[0]); }
#endif
__device__ inline bool widen(Boolean x) { return x.byte != 0; }
__device__ inline double widen(double x) { return x; }
__device__ inline float widen(float x) { return x; }
__device__ inline long long widen(long long x) { return x; }
__device__ inline int widen(int x) { return x; }
__device__ inline int widen(short x) { return x; }
__device__ inline int widen(signed char x) { return x; }
__device__ inline int widen(unsigned char x) { return x; }
__device__ inline int widen(unsigned short x) { return x; }
__device__ inline unsigned int widen(unsigned int x) { return x; }
__device__ inline unsigned long long widen(unsigned long long x) { return x; }
__device__ inline void narrow(bool x, Boolean& y) { y.byte = x; }
__device__ inline void narrow(double x, double& y) { y = x; }
__device__ inline void narrow(float x, float& y) { y = x; }
__device__ inline void narrow(long long x, long long& y) { y = x; }
__device__ inline void narrow(int x, int& y) { y = x; }
__device__ inline void narrow(int x, short& y) { y = static_cast<short>(x); }
__device__ inline void narrow(int x, signed char& y) { y = static_cast<signed char>(x); }
__device__ inline void narrow(int x, unsigned char& y) { y = static_cast<unsigned char>(x); }
__device__ inline void narrow(int x, unsigned short& y) { y = static_cast<unsigned short>(x); }
__device__ inline void narrow(unsigned int x, unsigned int& y) { y = x; }
__device__ inline void narrow(unsigned long long x, unsigned long long& y) { y = x; }

// Numbers of 8 bits. All constants but the codes are the bits of a float; tegula/core/dtype.h has the same.
template <int kMantissa>
struct Float8Format {
  static constexpr bool kInfinite = kMantissa == 2;
  static constexpr int kBias = kInfinite ? 15 : 7, kDropped = 23 - kMantissa;
  static constexpr int kLeastNormal = (128 - kBias) << 23, kLeast = (128 - kBias - kMantissa) << 23, kUnit = (151 - kBias - kMantissa) << 23;
  static constexpr int kShift = (127 - kBias) << kMantissa, kLastInside = kInfinite ? 0x476fffff : 0x43e80000;
  static constexpr int kNaN = 0x7f, kBeyond = kInfinite ? 0x7c : kNaN, kLastNumber = kInfinite ? kBeyond : kNaN - 1;
};
template <int kMantissa>
__device__ inline float widen(Float8<kMantissa> x) {
  typedef Float8Format<kMantissa> Format;
  const int magnitude = x.bits & 0x7f;
  int word = (magnitude + Format::kShift) << Format::kDropped;
  if (magnitude < 1 << kMantissa) word = __float_as_int(static_cast<float>(magnitude) * __int_as_float(Format::kLeast));
  if (Format::kInfinite && magnitude == Format::kBeyond) word = 0x7f800000;
  if (magnitude > Format::kLastNumber) word = 0x7fc00000;
  return __int_as_float(word | static_cast<int>((x.bits & 0x80u) << 24));
}
template <int kMantissa>
__device__ inline void narrow(float x, Float8<kMantissa>& y) {
  typedef Float8Format<kMantissa> Format;
  const int word = __float_as_int(x), magnitude = word & 0x7fffffff;
  int code = ((magnitude + (1 << (Format::kDropped - 1)) - 1 + (magnitude >> Format::kDropped & 1)) >> Format::kDropped) - Format::kShift;
  if (magnitude < Format::kLeastNormal) code = __float_as_int(__int_as_float(magnitude) + __int_as_float(Format::kUnit)) - Format::kUnit;
  if (magnitude > Format::kLastInside) code = Format::kBeyond;
  if (magnitude > 0x7f800000) code = Format::kNaN;
  y.bits = static_cast<unsigned char>(code | (word >> 24 & 0x80));
}

/// Returns x as it is stored and read again.
template <class Stored, class T>
__device__ inline T rounded(T x) { Stored y; narrow(x, y); return widen(y); }
#ifndef TEGULA_EMULATED
template <>
__device__ inline float rounded<BFloat16, float>(float x) { return __int_as_float(static_cast<int>(pair_of(x, 0.0f))); }  // beside nothing it is the number
#endif

template <class T> __device__ inline T infinite() { return static_cast<T>(__int_as_float(0x7f800000)); }
template <class T> __device__ inline T not_a_number() { return static_cast<T>(__int_as_float(0x7fc00000)); }

// ---- The L2 should let go first what was written: then rows reach 0.97 of a copy's rate on an H200 instead of
// 0.94, and 0.88 if it lets go what was read. The numbers are CUDA's access properties "persisting" and "streaming" (cuda/annotated_ptr).
#ifndef TEGULA_EMULATED
constexpr unsigned long long kLasting = 0x14F0000000000000, kPassing = 0x12F0000000000000;
#if __CUDA_ARCH__ >= 800
template <class T> __device__ inline T* lasting(T* p) { return static_cast<T*>(__nv_associate_access_property(p, kLasting)); }
template <class T> __device__ inline T* passing(T* p) { return static_cast<T*>(__nv_associate_access_property(p, kPassing)); }
#else
template <class T> __device__ inline T* lasting(T* p) { return p; }
template <class T> __device__ inline T* passing(T* p) { return p; }
#endif
#else
template <class T> T* lasting(T* p) { return p; }
template <class T> T* passing(T* p) { return p; }
#endif

// ---- A launch that begins while the one ahead of it runs (programmatic dependent launch). Without such an edge in the graph neither does anything.
/// Lets the next launch begin as soon as all blocks of this launch have.
__device__ inline void let_next_begin() {
#if !defined(TEGULA_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Waits until the launch ahead is over, and what it wrote is seen.
__device__ inline void await_launch_ahead() {
#if !defined(TEGULA_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- Memory: kWide neighbours move in one access.
template <class T, int kWide>
struct alignas(sizeof(T) * kWide) Wide { T x[kWide]; };
template <class T, int kWide>
__device__ inline auto element_of(const Wide<T, kWide>& x, int k) { return widen(x.x[k]); }
#ifndef TEGULA_EMULATED
/// One instruction on the register that holds the pair.
template <int kWide>
__device__ inline float element_of(const Wide<BFloat16, kWide>& x, int k) {
  if constexpr (kWide == 1) return widen(x.x[0]);
  const unsigned int pair = reinterpret_cast<const unsigned int*>(&x)[k / 2];
  return __int_as_float(static_cast<int>(k % 2 != 0 ? pair & 0xffff0000u : pair << 16));
}
#endif

/// Loads a vector as it lies in memory. `other` is 0.
template <int kWide, int kCount, class T>
__device__ inline void load_wide(const T* from, Wide<T, kCount>& x) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) *reinterpret_cast<Wide<T, kWide>*>(x.x + j) = *reinterpret_cast<const Wide<T, kWide>*>(from + j);
}
/// One element and nothing beside it: of three neighbours the compiler would make one wide load that reads on where nothing was written.
template <int kBytes> struct WordOf { typedef unsigned char Type; };
template <> struct WordOf<2> { typedef unsigned short Type; };
template <> struct WordOf<4> { typedef unsigned int Type; };
template <> struct WordOf<8> { typedef unsigned long long Type; };
template <class T>
__device__ inline T alone(const T* from) {
  typedef typename WordOf<sizeof(T)>::Type Word;
  union { Word word; T value; } x;
  x.word = *reinterpret_cast<const volatile Word*>(from);
  return x.value;
}
template <int kWide, int kCount, bool kWhole, class T, class U>
__device__ inline void load_wide(const T* from, Wide<T, kCount>& x, int inside, U) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    if (j + kWide <= inside) {
      *reinterpret_cast<Wide<T, kWide>*>(x.x + j) = *reinterpret_cast<const Wide<T, kWide>*>(from + j);
    } else {
#pragma unroll
      for (int i = j; i < j + kWide; ++i) {
        if (!kWhole && i < inside) x.x[i] = alone(from + i);
        else x.x[i] = T{};
      }
    }
  }
}
/// From here on the compiler takes packed elements for new ones: it does not widen them early, for several uses at once.
template <class T, int kWide>
__device__ inline void keep_packed(Wide<T, kWide>& x) {
#ifndef TEGULA_EMULATED
  unsigned int* words = reinterpret_cast<unsigned int*>(&x);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof x / 4); ++i) asm volatile("" : "+r"(words[i]));
#else
  (void)x;
#endif
}
template <class T, int kCount>
__device__ inline void keep_packed(T (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) keep_packed(x[i]);
}
template <int kWide, int kCount, class T, class U>
__device__ inline void load_wide(const T* from, U* x) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    const Wide<T, kWide> wide = *reinterpret_cast<const Wide<T, kWide>*>(from + j);
#pragma unroll
    for (int i = 0; i < kWide; ++i) x[j + i] = element_of(wide, i);
  }
}
/// Memory that no instance writes: its loads need not keep their place among the stores. kLasts: it is more than the L1 would keep beside the rows.
template <class T, bool kLasts> struct Steady { const T* from; };
template <bool kLasts = false, class T> __device__ inline Steady<T, kLasts> steady(const T* from) { return {from}; }
template <int kWide, bool kLasts, class T>
__device__ inline Wide<T, kWide> load_steady(const T* from) {
  union { Wide<T, kWide> wide; unsigned int words[4]; } x;
#ifndef TEGULA_EMULATED
  constexpr int kBytes = sizeof(Wide<T, kWide>);
  if constexpr (kBytes == 16 && kLasts && __CUDA_ARCH__ >= 800) asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3]) : "l"(from), "l"(kLasting));
  else if constexpr (kBytes == 16) asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3]) : "l"(from));
  else if constexpr (kBytes == 8) asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(x.words[0]), "=r"(x.words[1]) : "l"(from));
  else if constexpr (kBytes == 4) asm("ld.global.nc.u32 %0, [%1];" : "=r"(x.words[0]) : "l"(from));
  else
#endif
    x.wide = *reinterpret_cast<const Wide<T, kWide>*>(from);
  return x.wide;
}
template <int kWide, int kCount, class T, bool kLasts>
__device__ inline void load_wide(Steady<T, kLasts> steady, Wide<T, kCount>& x) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) *reinterpret_cast<Wide<T, kWide>*>(x.x + j) = load_steady<kWide, kLasts>(steady.from + j);
}
template <int kWide, int kCount, class T, bool kLasts, class U>
__device__ inline void load_wide(Steady<T, kLasts> steady, U* x) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    const Wide<T, kWide> wide = load_steady<kWide, kLasts>(steady.from + j);
#pragma unroll
    for (int i = 0; i < kWide; ++i) x[j + i] = element_of(wide, i);
  }
}
/// Loads the first `inside` elements; the others become `other`. kWhole: `inside` is a multiple of kWide.
template <int kWide, int kCount, bool kWhole, class T, class U>
__device__ inline void load_wide(const T* from, U* x, int inside, U other) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    if (j + kWide <= inside) {
      load_wide<kWide, kWide>(from + j, x + j);
    } else {
#pragma unroll
      for (int i = j; i < j + kWide; ++i) x[i] = !kWhole && i < inside ? static_cast<U>(widen(alone(from + i))) : other;
    }
  }
}
/// Into shared memory, without waiting; both ends are aligned to 16 bytes.
template <class T, int kCount>
__device__ inline void copy_async(const T* from, Wide<T, kCount>& to) {
#ifndef TEGULA_EMULATED
#if __CUDA_ARCH__ >= 800
  const unsigned int there = static_cast<unsigned int>(__cvta_generic_to_shared(&to));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof to / 16); ++i) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" :: "r"(there + 16 * i), "l"(reinterpret_cast<const char*>(from) + 16 * i), "l"(kLasting) : "memory");
  }
#else
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof to / 16); ++i) reinterpret_cast<uint4*>(&to)[i] = reinterpret_cast<const uint4*>(from)[i];
#endif
#else
  emulated::copy(&to, from, sizeof to, sizeof to);
#endif
}
/// Waits until what this thread sent has arrived.
__device__ inline void await_copies() {
#ifndef TEGULA_EMULATED
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#endif
#else
  emulated::close_copies();
  emulated::wait_for_copies(0);
#endif
}
template <int kWide, class T, class U>
__device__ inline void narrow_wide(const U* x, Wide<T, kWide>& wide) {
#pragma unroll
  for (int i = 0; i < kWide; ++i) narrow(x[i], wide.x[i]);
}
template <int kWide>
__device__ inline void narrow_wide(const float* x, Wide<Float16, kWide>& wide) {
  if constexpr (kWide == 1) narrow(x[0], wide.x[0]);
#pragma unroll
  for (int i = 0; i + 1 < kWide; i += 2) narrow(x + i, wide.x + i);
}
template <int kWide>
__device__ inline void narrow_wide(const float* x, Wide<BFloat16, kWide>& wide) {
  if constexpr (kWide == 1) narrow(x[0], wide.x[0]);
#pragma unroll
  for (int i = 0; i + 1 < kWide; i += 2) narrow(x + i, wide.x + i);
}
template <int kWide, int kCount, class T, class U>
__device__ inline void store_wide(T* to, const U* x) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    Wide<T, kWide> wide;
    narrow_wide(x + j, wide);
    *reinterpret_cast<Wide<T, kWide>*>(to + j) = wide;
  }
}
template <int kWide, int kCount, bool kWhole, class T, class U>
__device__ inline void store_wide(T* to, const U* x, int inside) {
#pragma unroll
  for (int j = 0; j < kCount; j += kWide) {
    if (j + kWide <= inside) {
      store_wide<kWide, kWide>(to + j, x + j);
    } else if constexpr (!kWhole) {
#pragma unroll
      for (int i = j; i < j + kWide; ++i) if (i < inside) narrow(x[i], to[i]);
    }
  }
}
/// The same for several rows of a thread, said outright: a compiler (13.0) that has put halves together by pairs stores those one by one.
template <int kWide, int kCount, class T, class U>
__device__ inline void store_rows(T* to, const U* x) {
#ifndef TEGULA_EMULATED
  if constexpr (sizeof(Wide<T, kWide>) == 16 && __CUDA_ARCH__ >= 800) {
#pragma unroll
    for (int j = 0; j < kCount; j += kWide) {
      Wide<T, kWide> wide;
      narrow_wide(x + j, wide);
      const unsigned int* const w = reinterpret_cast<const unsigned int*>(&wide);
      asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" :: "l"(to + j), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(kPassing) : "memory");
    }
    return;
  }
#endif
  store_wide<kWide, kCount>(to, x);
}
// ---- Copies from global to shared memory that the thread waits for later.
#ifdef TEGULA_EMULATED
template <int kBytes>
__device__ inline void copy_async(void* to, const void* from, int bytes) {
  emulated::copy(to, from, bytes, kBytes);
}
__device__ inline void close_copies() { emulated::close_copies(); }
template <int kUnfinished> __device__ inline void wait_for_copies() { emulated::wait_for_copies(kUnfinished); }
#elif __CUDA_ARCH__ < 800
// Without copies that go on by themselves a thread waits for each.
template <int kBytes>
__device__ inline void copy_async(void* to, const void* from, int bytes) {
  if constexpr (kBytes == 16) {
    if (bytes == 16) { *static_cast<uint4*>(to) = *static_cast<const uint4*>(from); return; }
  }
#pragma unroll
  for (int i = 0; i < kBytes; ++i) static_cast<unsigned char*>(to)[i] = i < bytes ? static_cast<const unsigned char*>(from)[i] : 0;
}
__device__ inline void close_copies() {}
template <int kUnfinished> __device__ inline void wait_for_copies() {}
#else
template <int kBytes>
__device__ inline void copy_async(void* to, const void* from, int bytes) {
  const unsigned int place = static_cast<unsigned int>(__cvta_generic_to_shared(to));
  // No hint: for one beside a count of bytes ptxas 13.0 writes an instruction that is illegal.
  if constexpr (kBytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(place), "l"(from), "r"(bytes) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(place), "l"(from), "n"(kBytes), "r"(bytes) : "memory");
}
__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// All but the last kUnfinished groups have arrived.
template <int kUnfinished> __device__ inline void wait_for_copies() { asm volatile("cp.async.wait_group %0;" :: "n"(kUnfinished) : "memory"); }
#endif
/// kCount neighbours, kWide at a time; only the first `inside` are there, the others become zero.
template <int kWide, int kCount, class T>
__device__ inline void copy_ahead(unsigned char* to, const T* from, int inside) {
  constexpr int kBytes = kWide * sizeof(T) < 16 ? kWide * sizeof(T) : 16, kStep = kBytes / sizeof(T);
#pragma unroll
  for (int j = 0; j < kCount; j += kStep) {
    const int left = inside - j;
    copy_async<kBytes>(to + j * sizeof(T), from + j, static_cast<int>((left < 0 ? 0 : left < kStep ? left : kStep) * sizeof(T)));
  }
}

/// A limit on a coordinate, small enough to count with 32 bits.
__device__ inline int bounded(long long limit) { return limit < 0 ? 0 : limit > (1 << 30) ? (1 << 30) : static_cast<int>(limit); }

/// a - b, or the nearer of ±2^62: one more than that is no overflow.
__device__ inline long long difference(long long a, long long b) {
  const long long most = 1ll << 62, d = static_cast<long long>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
  if (((a ^ b) & (a ^ d)) < 0) return a < 0 ? -most : most;
  return d < -most ? -most : d > most ? most : d;
}
/// The greatest number whose product with `step`, 2 or more, is at most a.
__device__ inline long long rounded_down(long long a, long long step) { return a / step - (a % step < 0); }

/// Returns true if one guard at least has failed. The first few are asked for at once, and no thread waits for them before it takes the answer.
__device__ inline bool any_failed(const Failure* guards, int count) {
  constexpr int kFew = 4;
  bool failed = false;
#pragma unroll 1
  for (int i = kFew; i < count; ++i) failed |= guards[i].id >= 0;
#pragma unroll
  for (int i = 0; i < kFew; ++i) failed |= guards[i < count ? i : 0].id >= 0;
  return failed;
}

/// The first failure stays.
__device__ inline void report(Failure* failure, long long id, long long value) {
  if (atomicCAS(reinterpret_cast<unsigned long long*>(&failure->id), ~0ull, static_cast<unsigned long long>(id)) != ~0ull) return;
  failure->value = value;
  if (failure->report) failure->report->value = value, failure->report->id = id;
}
#pragma endregion
