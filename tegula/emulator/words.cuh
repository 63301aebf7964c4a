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

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

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
/// The value that `lane` gave; the thread's own where it gave nothing.
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
/// A number that the launch lays down.
template <class T>
TEGULA_WORD T given(const void* place) {
  T value;
  __builtin_memcpy(&value, place, sizeof value);
  return value;
}
/// A pointer for any parameter.
struct Pointer {
  void* p;
  template <class T>
  TEGULA_WORD operator T*() const { return static_cast<T*>(p); }
};
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

template <class T>
TEGULA_WORD T __reduce_and_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return a & b; }); }
template <class T>
TEGULA_WORD T __reduce_or_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return a | b; }); }
template <class T>
TEGULA_WORD T __reduce_xor_sync(unsigned mask, T value, TEGULA_HERE) { return emulated::reduce(mask, value, TEGULA_AT, [](T a, T b) { return a ^ b; }); }
template <class T>
TEGULA_WORD unsigned __match_all_sync(unsigned mask, T value, int* all_equal, TEGULA_HERE) {
  const unsigned equal = __match_any_sync(mask, value, TEGULA_FROM);
  *all_equal = equal == tegula_emulated.members;
  return *all_equal ? mask : 0u;
}

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
  T old;  // by bytes: the assignments of vectors and of __half tell of themselves
  __builtin_memcpy(&old, const_cast<const T*>(place), sizeof old);
  const T value = next(old);
  __builtin_memcpy(const_cast<T*>(place), &value, sizeof value);
  return old;
}
template <class T>
struct Same {
  using Type = T;
};
}  // namespace emulated
#define TEGULA_ATOMIC_IN(name, expression)                                                                                 \
  template <class T>                                                                                                       \
  TEGULA_WORD T name(T* place, typename emulated::Same<T>::Type value) {                                                   \
    return emulated::change(place, __builtin_return_address(0), [=](T old) TEGULA_PLAIN -> T { return expression; });      \
  }
#define TEGULA_ATOMIC(name, expression) \
  TEGULA_ATOMIC_IN(name, expression) TEGULA_ATOMIC_IN(name##_block, expression) TEGULA_ATOMIC_IN(name##_system, expression)
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
#define TEGULA_CAS(name)                                                                                                            \
  template <class T>                                                                                                                \
  TEGULA_WORD T name(T* place, typename emulated::Same<T>::Type expected, typename emulated::Same<T>::Type value) {                 \
    return emulated::change(place, __builtin_return_address(0), [=](T old) TEGULA_PLAIN -> T { return old == expected ? value : old; }); \
  }
TEGULA_CAS(atomicCAS) TEGULA_CAS(atomicCAS_block) TEGULA_CAS(atomicCAS_system)

// ---- Accesses with a hint, which the compiler does not see in the words' own code
#define TEGULA_LOAD(name)                                                                                                 \
  template <class T>                                                                                                      \
  TEGULA_WORD T name(const T* place) {                                                                                    \
    emulated::checked_access(place, static_cast<int>(sizeof(T)), emulated::kRead, __builtin_return_address(0));           \
    return *place;                                                                                                        \
  }
#define TEGULA_STORE(name)                                                                                                \
  template <class T>                                                                                                      \
  TEGULA_WORD void name(T* place, typename emulated::Same<T>::Type value) {                                               \
    emulated::checked_access(place, static_cast<int>(sizeof(T)), emulated::kWrite, __builtin_return_address(0));          \
    __builtin_memcpy(place, &value, sizeof(T));                                                                           \
  }
TEGULA_LOAD(__ldg) TEGULA_LOAD(__ldca) TEGULA_LOAD(__ldcg) TEGULA_LOAD(__ldcs) TEGULA_LOAD(__ldlu) TEGULA_LOAD(__ldcv)
TEGULA_STORE(__stwb) TEGULA_STORE(__stcg) TEGULA_STORE(__stcs) TEGULA_STORE(__stwt)

// ---- Time, and the end
TEGULA_WORD long long clock64() {
  static long long now = 0;
  return ++now;
}
TEGULA_WORD int clock() { return static_cast<int>(clock64()); }
TEGULA_WORD void __nanosleep(unsigned) {}
TEGULA_WORD void __trap(TEGULA_HERE) { tegula_emulated.fault("traps", TEGULA_AT); }

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
TEGULA_WORD int __ffsll(long long x) { return __builtin_ffsll(x); }
TEGULA_WORD unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
TEGULA_WORD unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const unsigned long long all = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(all >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
TEGULA_WORD unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (by & 31)) >> 32);
}
TEGULA_WORD unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
TEGULA_WORD unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
TEGULA_WORD long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
TEGULA_WORD unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
TEGULA_WORD unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
TEGULA_WORD int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
TEGULA_WORD int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
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
#ifdef __clang__  // there "thread" leaves what tells of calls in, by which a hook would call itself
#define TEGULA_HOOK __attribute__((disable_sanitizer_instrumentation, no_sanitize("undefined"), visibility("hidden")))
#else
#define TEGULA_HOOK __attribute__((no_sanitize("thread", "undefined"), visibility("hidden")))
#endif
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
// Variables in shared memory begin as nothing, whatever constructors their types have: there is no first time to wait for.
TEGULA_HOOK char __tsan_atomic8_load(const volatile char* place, int) { return *place; }
TEGULA_HOOK int __cxa_guard_acquire(long long*) { return 0; }
TEGULA_HOOK void __cxa_guard_release(long long*) {}
TEGULA_HOOK void __tsan_init() {}
TEGULA_HOOK void __tsan_func_entry(void*) {
  // A thread's local memory, as CUDA limits it; the stack is larger, so that a function may be begun before it is asked.
  if (tegula_emulated.stack_end - static_cast<const unsigned char*>(__builtin_frame_address(0)) > (512 << 10))
    tegula_emulated.fault_at("needs more than 512 KiB of local memory: calls without an end, or a large array", __builtin_return_address(0));
}
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
namespace emulated {
TEGULA_WORD void touch_all(const void* place, unsigned long bytes, int kind, const void* code) {
  for (unsigned long i = 0; i < bytes; ++i) checked_access(static_cast<const char*>(place) + i, 1, kind, code);
}
TEGULA_WORD void* copied(void* to, const void* from, unsigned long bytes) {
  touch_all(from, bytes, kRead, __builtin_return_address(0)), touch_all(to, bytes, kWrite, __builtin_return_address(0));
  return __builtin_memcpy(to, from, bytes);
}
TEGULA_WORD void* filled(void* to, int with, unsigned long bytes) {
  touch_all(to, bytes, kWrite, __builtin_return_address(0));
  return __builtin_memset(to, with, bytes);
}
}  // namespace emulated
#define memcpy(...) emulated::copied(__VA_ARGS__)
#define memset(...) emulated::filled(__VA_ARGS__)
#pragma endregion
