// CUDA C++ for the system's C++ compiler: the words of kernels, on top of the threads of threads.h. No header of C++ is read, which would take longer than most
// kernels do.

#pragma region Words
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEGULA_EMULATED 1
#define TEGULA_WORD __attribute__((no_sanitize("thread"), unused)) inline
// The line of the call, as a last argument; in the function, as a Place or to be handed on.
#define TEGULA_HERE int here_line = __builtin_LINE(), const char* here_file = __builtin_FILE()
#define TEGULA_AT emulated::Place{here_file, here_line}
#define TEGULA_FROM here_line, here_file
#define __device__
#define __host__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static  // blocks that use it run one after another
#define TEGULA_SHARED unsigned char* const shared = tegula_emulated.shared

extern "C" {
emulated::State tegula_emulated;
}

#define threadIdx (tegula_emulated.thread)
#define blockIdx (tegula_emulated.block)
#define blockDim (tegula_emulated.block_size)
#define gridDim (tegula_emulated.grid)
constexpr int warpSize = 32;

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

namespace emulated {
TEGULA_WORD unsigned lane() {
  const State& s = tegula_emulated;
  return (s.thread.x + s.block_size.x * (s.thread.y + s.block_size.y * s.thread.z)) % 32;
}
template <class T>
TEGULA_WORD T from(const Slot& slot) {
  T value;
  __builtin_memcpy(&value, slot.bytes, sizeof value);
  return value;
}
template <class T>
TEGULA_WORD const Slot* meet(unsigned mask, const T& value, Place here) {
  static_assert(sizeof(T) <= sizeof(Slot), "threads of a warp exchange up to 16 bytes");
  if ((mask >> lane() & 1) == 0) tegula_emulated.fault("exchanges with a mask that does not name it", here);
  return tegula_emulated.meet(mask, &value, static_cast<int>(sizeof value), here);
}
/// What `lane` gave; the thread's own where it gave nothing.
template <class T>
TEGULA_WORD T from_lane(const Slot* all, unsigned lane, const T& own) {
  return lane < 32 && (tegula_emulated.members >> lane & 1) ? from<T>(all[lane]) : own;
}
template <class T>
TEGULA_WORD T exchange(T value, int distance, TEGULA_HERE) {
  const Slot* all = tegula_emulated.meet(0xffffffffu, &value, static_cast<int>(sizeof value), TEGULA_AT);
  return from_lane(all, lane() ^ static_cast<unsigned>(distance), value);
}
#ifdef TEGULA_CHECKED
TEGULA_WORD void checked_access(const void* place, int bytes, int kind, const void* code) {
  const auto* at = static_cast<const unsigned char*>(place);
  if (at >= tegula_emulated.stack_begin && at < tegula_emulated.stack_end) return;
  if (tegula_emulated.access) tegula_emulated.access(place, bytes, kind, code);
}
#else
TEGULA_WORD void checked_access(const void*, int, int, const void*) {}
#endif
}  // namespace emulated

// ---- Barriers
TEGULA_WORD void __syncthreads(TEGULA_HERE) { tegula_emulated.sync_block(TEGULA_AT); }
TEGULA_WORD int __syncthreads_count(int predicate, TEGULA_HERE) { return tegula_emulated.count_block(predicate, TEGULA_AT); }
TEGULA_WORD int __syncthreads_or(int predicate, TEGULA_HERE) { return tegula_emulated.count_block(predicate, TEGULA_AT) > 0; }
TEGULA_WORD int __syncthreads_and(int predicate, TEGULA_HERE) { return tegula_emulated.count_block(!predicate, TEGULA_AT) == 0; }
TEGULA_WORD void __syncwarp(unsigned mask = 0xffffffffu, TEGULA_HERE) { tegula_emulated.sync_warp(mask, TEGULA_AT); }
TEGULA_WORD void __threadfence() { tegula_emulated.fence(); }
TEGULA_WORD void __threadfence_system() { tegula_emulated.fence(); }
TEGULA_WORD void __threadfence_block() {}

// ---- Exchange within a warp
template <class T>
TEGULA_WORD T __shfl_sync(unsigned mask, T value, int source, int width = 32, TEGULA_HERE) {
  const unsigned lane = emulated::lane(), first = lane & ~static_cast<unsigned>(width - 1);
  return emulated::from_lane(emulated::meet(mask, value, TEGULA_AT), first + (static_cast<unsigned>(source) & static_cast<unsigned>(width - 1)), value);
}
template <class T>
TEGULA_WORD T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, TEGULA_HERE) {
  const unsigned lane = emulated::lane(), within = lane & static_cast<unsigned>(width - 1);
  const emulated::Slot* all = emulated::meet(mask, value, TEGULA_AT);
  return within < distance ? value : emulated::from_lane(all, lane - distance, value);
}
template <class T>
TEGULA_WORD T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, TEGULA_HERE) {
  const unsigned lane = emulated::lane(), within = lane & static_cast<unsigned>(width - 1);
  const emulated::Slot* all = emulated::meet(mask, value, TEGULA_AT);
  return within + distance >= static_cast<unsigned>(width) ? value : emulated::from_lane(all, lane + distance, value);
}
template <class T>
TEGULA_WORD T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32, TEGULA_HERE) {
  const unsigned lane = emulated::lane(), other = lane ^ static_cast<unsigned>(distance);
  const emulated::Slot* all = emulated::meet(mask, value, TEGULA_AT);
  return other / static_cast<unsigned>(width) > lane / static_cast<unsigned>(width) ? value : emulated::from_lane(all, other, value);
}
TEGULA_WORD unsigned __activemask() { return tegula_emulated.lanes; }
TEGULA_WORD unsigned __ballot_sync(unsigned mask, int predicate, TEGULA_HERE) {
  const emulated::Slot* all = emulated::meet(mask, predicate, TEGULA_AT);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((tegula_emulated.members >> lane & 1) && emulated::from<int>(all[lane])) votes |= 1u << lane;
  return votes;
}
TEGULA_WORD int __any_sync(unsigned mask, int predicate, TEGULA_HERE) { return __ballot_sync(mask, predicate, TEGULA_FROM) != 0; }
TEGULA_WORD int __all_sync(unsigned mask, int predicate, TEGULA_HERE) { return __ballot_sync(mask, !predicate, TEGULA_FROM) == 0; }
template <class T>
TEGULA_WORD unsigned __match_any_sync(unsigned mask, T value, TEGULA_HERE) {
  const emulated::Slot* all = emulated::meet(mask, value, TEGULA_AT);
  unsigned equal = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((tegula_emulated.members >> lane & 1) && emulated::from<T>(all[lane]) == value) equal |= 1u << lane;
  return equal;
}
namespace emulated {
template <class T, class F>
TEGULA_WORD T reduce(unsigned mask, T value, Place here, F f) {
  const Slot* all = meet(mask, value, here);
  T result = value;
  for (unsigned other = 0; other < 32; ++other)
    if ((tegula_emulated.members >> other & 1) && other != lane()) result = f(result, from<T>(all[other]));
  return result;
}
}  // namespace emulated
template <class T>
TEGULA_WORD T __reduce_add_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return a + b; }); }
template <class T>
TEGULA_WORD T __reduce_min_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return b < a ? b : a; }); }
template <class T>
TEGULA_WORD T __reduce_max_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return a < b ? b : a; }); }

// ---- Clusters, and copies that arrive later: words of generated kernels
TEGULA_WORD int cluster_rank() { return tegula_emulated.cluster_rank; }
TEGULA_WORD void cluster_barrier() { tegula_emulated.sync_cluster(); }
TEGULA_WORD void cluster_arrive() {}
TEGULA_WORD void cluster_wait() { cluster_barrier(); }
TEGULA_WORD void begin_exchange(void*) {}
TEGULA_WORD void expect_exchange(void*, int) {}
TEGULA_WORD void await_exchange(void*) { cluster_barrier(); }
template <class T>
TEGULA_WORD T* cluster_place(T* place, int rank) {
  return reinterpret_cast<T*>(tegula_emulated.shared_of(rank) + (reinterpret_cast<const unsigned char*>(place) - tegula_emulated.shared));
}
template <class T>
TEGULA_WORD T cluster_read(const T* place, int rank) { return *cluster_place(place, rank); }
template <class T>
TEGULA_WORD void cluster_write(T* place, int rank, T x) { *cluster_place(place, rank) = x; }
template <int kCount, class T>
TEGULA_WORD void exchange_write(T* place, int rank, const T* x, void*) {
  for (int i = 0; i < kCount; ++i) cluster_write(place + i, rank, x[i]);
}
namespace emulated {
TEGULA_WORD void copy(void* to, const void* from, int there, int bytes) { tegula_emulated.copy(to, from, there, bytes); }
TEGULA_WORD void close_copies() { tegula_emulated.close_copies(); }
TEGULA_WORD void wait_for_copies(int unfinished) { tegula_emulated.wait_for_copies(unfinished); }
}  // namespace emulated

// ---- Atomic operations: threads change only at barriers and behind these
namespace emulated {
template <class T, class F>
TEGULA_WORD T change(T* place, const void* code, F next) {
  checked_access(const_cast<const T*>(place), static_cast<int>(sizeof(T)), kAtomic, code);
  const T old = *place;
  *place = next(old);
  return old;
}
template <class T>
struct Same {
  using Type = T;
};
}  // namespace emulated
#define TEGULA_ATOMIC(name, expression)                                                                                    \
  template <class T>                                                                                                       \
  TEGULA_WORD T name(T* place, typename emulated::Same<T>::Type value) {                                                   \
    return emulated::change(place, __builtin_return_address(0), [=](T old) TEGULA_PLAIN -> T { return expression; });      \
  }                                                                                                                        \
  template <class T>                                                                                                       \
  TEGULA_WORD T name##_block(T* place, typename emulated::Same<T>::Type value) { return name(place, value); }
#define TEGULA_PLAIN __attribute__((no_sanitize("thread")))
TEGULA_ATOMIC(atomicAdd, old + value)
TEGULA_ATOMIC(atomicSub, old - value)
TEGULA_ATOMIC(atomicExch, (static_cast<void>(old), value))
TEGULA_ATOMIC(atomicMin, value < old ? value : old)
TEGULA_ATOMIC(atomicMax, old < value ? value : old)
TEGULA_ATOMIC(atomicAnd, old & value)
TEGULA_ATOMIC(atomicOr, old | value)
TEGULA_ATOMIC(atomicXor, old ^ value)
TEGULA_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
TEGULA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
template <class T>
TEGULA_WORD T atomicCAS(T* place, typename emulated::Same<T>::Type expected, typename emulated::Same<T>::Type value) {
  return emulated::change(place, __builtin_return_address(0), [=](T old) TEGULA_PLAIN -> T { return old == expected ? value : old; });
}

// ---- Bits
TEGULA_WORD int __popc(unsigned x) { return __builtin_popcount(x); }
TEGULA_WORD int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TEGULA_WORD int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
TEGULA_WORD int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
TEGULA_WORD int __ffs(int x) { return __builtin_ffs(x); }
TEGULA_WORD unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
TEGULA_WORD unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
TEGULA_WORD int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
TEGULA_WORD int __mul24(int a, int b) { return a * b; }
namespace emulated {
template <class To, class From>
TEGULA_WORD To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
}  // namespace emulated
TEGULA_WORD float __int_as_float(int x) { return emulated::bits_as<float>(x); }
TEGULA_WORD int __float_as_int(float x) { return emulated::bits_as<int>(x); }
TEGULA_WORD float __uint_as_float(unsigned x) { return emulated::bits_as<float>(x); }
TEGULA_WORD unsigned __float_as_uint(float x) { return emulated::bits_as<unsigned>(x); }
TEGULA_WORD double __longlong_as_double(long long x) { return emulated::bits_as<double>(x); }
TEGULA_WORD long long __double_as_longlong(double x) { return emulated::bits_as<long long>(x); }
template <class T>
TEGULA_WORD T __ldg(const T* place) { return *place; }
#pragma endregion

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
TEGULA_WORD float __expf(float x) { return expf(x); }
TEGULA_WORD float __logf(float x) { return logf(x); }
TEGULA_WORD float __log2f(float x) { return log2f(x); }
TEGULA_WORD float __powf(float x, float y) { return powf(x, y); }
TEGULA_WORD float __fdividef(float x, float y) { return x / y; }
TEGULA_WORD float __frcp_rn(float x) { return 1.0f / x; }
TEGULA_WORD float __fsqrt_rn(float x) { return sqrtf(x); }
TEGULA_WORD float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
TEGULA_WORD float __fadd_rn(float x, float y) { return x + y; }
TEGULA_WORD float __fmul_rn(float x, float y) { return x * y; }
TEGULA_WORD int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
TEGULA_WORD int __float2int_rz(float x) { return static_cast<int>(x); }
TEGULA_WORD float __int2float_rn(int x) { return static_cast<float>(x); }
#pragma endregion

#pragma region Vectors
// ---- float2, int4, ...
// An assignment says itself what it touches: of one from a function's result the compiler does not.
#define TEGULA_ASSIGNED(name)                                                                                                      \
  TEGULA_WORD name& operator=(const name& other) {                                                                                 \
    emulated::checked_access(&other, static_cast<int>(sizeof other), emulated::kRead, __builtin_return_address(0));                \
    emulated::checked_access(this, static_cast<int>(sizeof other), emulated::kWrite, __builtin_return_address(0));                 \
    __builtin_memcpy(this, &other, sizeof other);                                                                                  \
    return *this;                                                                                                                  \
  }
#define TEGULA_VECTORS(name, T, bytes)                                                                                            \
  struct name##1 { T x; };                                                                                                        \
  struct __attribute__((aligned(2 * bytes))) name##2 { T x, y; TEGULA_ASSIGNED(name##2) };                                        \
  struct name##3 { T x, y, z; TEGULA_ASSIGNED(name##3) };                                                                         \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 { T x, y, z, w; TEGULA_ASSIGNED(name##4) };            \
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
TEGULA_VECTORS(longlong, long long, 8)
TEGULA_VECTORS(double, double, 8)
#pragma endregion

#pragma region Checks
// ---- What the compiler calls ahead of each access to memory (-fsanitize=thread), and where an index or a division is wrong (-fsanitize=bounds, …)
#undef assert
#define assert(condition) ((condition) ? static_cast<void>(0) : tegula_emulated.fault("finds that assert(" #condition ") does not hold", emulated::Place{__FILE__, __LINE__}))
namespace emulated {
struct SourceLocation {
  const char* file;
  unsigned line, column;
};
struct TypeName {
  unsigned short kind, info;
  char name[1];
};
struct OutOfBounds {
  SourceLocation where;
  const TypeName *array, *index;
};
}  // namespace emulated
#define TEGULA_HOOK __attribute__((no_sanitize("thread", "undefined"), visibility("hidden")))
extern "C" {
#define TEGULA_ACCESSES(bytes)                                                                                                          \
  TEGULA_HOOK void __tsan_read##bytes(void* p) { emulated::checked_access(p, bytes, emulated::kRead, __builtin_return_address(0)); }    \
  TEGULA_HOOK void __tsan_write##bytes(void* p) { emulated::checked_access(p, bytes, emulated::kWrite, __builtin_return_address(0)); }
TEGULA_ACCESSES(1) TEGULA_ACCESSES(2) TEGULA_ACCESSES(4) TEGULA_ACCESSES(8) TEGULA_ACCESSES(16)
#define TEGULA_UNALIGNED(bytes)                                                                                                                       \
  TEGULA_HOOK void __tsan_unaligned_read##bytes(void* p) { emulated::checked_access(p, bytes, emulated::kRead, __builtin_return_address(0)); }        \
  TEGULA_HOOK void __tsan_unaligned_write##bytes(void* p) { emulated::checked_access(p, bytes, emulated::kWrite, __builtin_return_address(0)); }
TEGULA_UNALIGNED(2) TEGULA_UNALIGNED(4) TEGULA_UNALIGNED(8) TEGULA_UNALIGNED(16)
TEGULA_HOOK void __tsan_read_range(void* p, unsigned long bytes) {
  emulated::checked_access(p, static_cast<int>(bytes), emulated::kRead, __builtin_return_address(0));
}
TEGULA_HOOK void __tsan_write_range(void* p, unsigned long bytes) {
  emulated::checked_access(p, static_cast<int>(bytes), emulated::kWrite, __builtin_return_address(0));
}
TEGULA_HOOK void __tsan_init() {}
TEGULA_HOOK void __tsan_func_entry(void*) {}
TEGULA_HOOK void __tsan_func_exit() {}
TEGULA_HOOK void __tsan_vptr_update(void**, void*) {}
TEGULA_HOOK void __tsan_vptr_read(void**) {}
TEGULA_HOOK void __ubsan_handle_out_of_bounds(emulated::OutOfBounds* data, void* index) {
  char text[160];
  snprintf(text, sizeof text, "takes the index %ld of an array %s", reinterpret_cast<long>(index), data->array->name);
  tegula_emulated.fault(text, {data->where.file, static_cast<int>(data->where.line)});
}
TEGULA_HOOK void __ubsan_handle_divrem_overflow(emulated::OutOfBounds* data, void*, void* divisor) {
  tegula_emulated.fault(divisor ? "divides the smallest integer by -1" : "divides an integer by 0",
                        {data->where.file, static_cast<int>(data->where.line)});
}
}
#pragma endregion
