#pragma once
// CUDA C++ for a C++ compiler: the words of generated kernels, run by fibers. A thread of a block is a fiber; barriers and exchanges
// switch to the next one. What a kernel does before a barrier, a thread does to the end before the next thread begins, in a changing
// order: so a barrier that is missing shows. At an even pace all warps come from one exchange to the next together, and copies arrive when they begin;
// at an uneven pace one warp after another, in a random order, goes as far as it can, and copies arrive when they are waited for, not before.
// Prepended to the generated source; nothing here is part of the library.

#include <ucontext.h>
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#define TEGULA_EMULATED 1
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static  // one block runs at a time where this is used
#define TEGULA_SHARED unsigned char* const shared = emulated::current->block->shared.data()

namespace emulated {

struct Index {
  unsigned int x;
};

struct Block {
  std::vector<unsigned char> shared;
  unsigned int number = 0;
};

constexpr std::size_t kStackBytes = 256 * 1024, kExchangeBytes = 16;

struct Copy {
  unsigned char* to;
  const unsigned char* from;
  int there, bytes;
};

struct Fiber {
  Block* block = nullptr;
  Index thread{};
  jmp_buf state;
  ucontext_t start;
  std::unique_ptr<unsigned char[]> stack;
  // Where it waits, and how often it has been there: block barrier, cluster barrier, exchange of a warp.
  int waits_at = -1;
  bool done = false;
  int parity = 0;
  std::vector<std::vector<Copy>> copies;  // that have not arrived: a group each; the last one is open
  alignas(16) unsigned char sent[2][kExchangeBytes];
};

inline Fiber* current = nullptr;
inline jmp_buf scheduler;
inline std::vector<Fiber>* fibers = nullptr;
inline std::vector<Block>* blocks = nullptr;
inline Index block_index, block_size, grid_size;
inline bool uneven = false;
constexpr unsigned kUneven = 1u << 31;  // in the number that a launch's order begins with
using Body = void (*)(void*);
inline Body body;
inline void* argument;

enum Wait { kBlock = 0, kCluster = 1, kWarp = 2 };

inline void wait(int at) {
  current->waits_at = at;
  if (_setjmp(current->state) == 0) _longjmp(scheduler, 1);
}

inline void enter() {
  body(argument);
  current->done = true;
  current->waits_at = -1;
  _longjmp(scheduler, 1);
}

inline void resume(Fiber& fiber, bool fresh) {
  current = &fiber;
  block_index.x = fiber.block->number;
  if (_setjmp(scheduler) == 0) {
    if (!fresh) _longjmp(fiber.state, 1);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = kStackBytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, enter, 0);
    setcontext(&fiber.start);
  }
}

inline void arrive(const Copy& copy) {
  for (int i = 0; i < copy.bytes; ++i) copy.to[i] = i < copy.there ? copy.from[i] : 0;
}
/// `bytes` at `to`, of which the first `there` come from `from` and the others are 0.
inline void copy(void* to, const void* from, int there, int bytes) {
  const Copy one{static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), there, bytes};
  uneven ? current->copies.back().push_back(one) : arrive(one);
}
inline void close_copies() { current->copies.emplace_back(); }
inline void wait_for_copies(int unfinished) {
  auto& groups = current->copies;
  while (static_cast<int>(groups.size()) - 1 > unfinished) {
    for (const Copy& one : groups.front()) arrive(one);
    groups.erase(groups.begin());
  }
}

/// Whether all threads of [begin, end) wait at the same place; finished ones count for barriers of the whole block only.
inline bool all_wait(std::size_t begin, std::size_t end, int at) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!(*fibers)[i].done && (*fibers)[i].waits_at != at) return false;
  }
  return true;
}

/// Runs `cluster` blocks of `threads` threads together. False when they wait for each other for ever.
inline bool run_cluster(std::size_t first_block, int cluster, int threads, std::size_t shared_bytes, unsigned order) {
  static std::vector<Fiber> all;
  static std::vector<Block> some;
  const std::size_t count = static_cast<std::size_t>(cluster) * static_cast<std::size_t>(threads),
                    per_block = static_cast<std::size_t>(threads);
  while (all.size() < count) {
    all.emplace_back();
    all.back().stack = std::make_unique<unsigned char[]>(kStackBytes);
  }
  some.assign(static_cast<std::size_t>(cluster), {});
  for (std::size_t b = 0; b < some.size(); ++b) {
    some[b].shared.assign(shared_bytes + 16, 0xcd);
    some[b].number = static_cast<unsigned>(first_block + b);
  }
  fibers = &all, blocks = &some;
  block_size.x = static_cast<unsigned>(threads);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].block = &some[i / per_block];
    all[i].thread.x = static_cast<unsigned>(i % per_block);
    all[i].done = false, all[i].waits_at = -1, all[i].parity = 0;
    all[i].copies.assign(1, {});
  }
  uneven = (order & kUneven) != 0;
  std::vector<std::size_t> warps((count + 31) / 32);
  for (std::size_t i = 0; i < warps.size(); ++i) warps[i] = i;
  std::minstd_rand random(order + static_cast<unsigned>(first_block));
  bool fresh = true;
  std::vector<bool> begun(warps.size(), false);  // at an uneven pace
  for (std::size_t finished = 0; finished < count;) {
    bool progress = false;
    const auto step = [&](std::size_t i, bool fresh_one) {
      Fiber& fiber = all[i];
      if (fiber.done || fiber.waits_at >= 0) return;
      resume(fiber, fresh_one);
      finished += fiber.done;
      progress = true;
    };
    const auto release = [&](std::size_t begin, std::size_t end, int at) {
      bool any = false;
      for (std::size_t i = begin; i < end; ++i) any = any || (!all[i].done && all[i].waits_at == at);
      if (!any || !all_wait(begin, end, at)) return;
      for (std::size_t i = begin; i < end; ++i) all[i].waits_at = -1;
      progress = true;
    };
    ++order;
    if (uneven) {
      std::shuffle(warps.begin(), warps.end(), random);
      for (const std::size_t warp : warps) {
        const std::size_t begin = warp * 32, end = std::min(begin + 32, count);
        for (bool further = true; further;) {
          for (std::size_t i = begin; i < end; ++i) step(order % 2 != 0 ? i : begin + end - 1 - i, !begun[warp]);
          begun[warp] = true;
          release(begin, end, kWarp);
          further = false;
          for (std::size_t i = begin; i < end; ++i) further = further || (!all[i].done && all[i].waits_at < 0);
        }
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) step(order % 2 != 0 ? i : count - 1 - i, fresh);
    }
    fresh = false;
    for (std::size_t begin = 0; begin < count; begin += 32) release(begin, std::min(begin + 32, count), kWarp);
    for (std::size_t begin = 0; begin < count; begin += per_block) release(begin, begin + per_block, kBlock);
    release(0, count, kCluster);
    if (!progress) return false;
  }
  return true;
}

template <class T>
T exchange(T value, int distance) {
  Fiber& self = *current;
  const int parity = self.parity;
  self.parity ^= 1;
  std::memcpy(self.sent[parity], &value, sizeof value);
  wait(kWarp);
  std::memcpy(&value,
              (&self)[static_cast<int>(self.thread.x ^ static_cast<unsigned>(distance)) - static_cast<int>(self.thread.x)].sent[parity],
              sizeof value);
  return value;
}

}  // namespace emulated

#define threadIdx (emulated::current->thread)
#define blockIdx (emulated::block_index)
#define blockDim (emulated::block_size)
#define gridDim (emulated::grid_size)

inline void __syncthreads() { emulated::wait(emulated::kBlock); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return emulated::exchange(value, distance);
}
inline void __syncwarp() { emulated::wait(emulated::kWarp); }
template <class T>
unsigned __match_any_sync(unsigned, T value) {
  unsigned equal = 0;
  for (unsigned distance = 0; distance < 32; ++distance) {
    if (emulated::exchange(value, static_cast<int>(distance)) == value) equal |= 1u << ((threadIdx.x % 32) ^ distance);
  }
  return equal;
}
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline int cluster_rank() { return static_cast<int>(emulated::current->block - emulated::blocks->data()); }
inline void cluster_barrier() { emulated::wait(emulated::kCluster); }
inline void cluster_arrive() {}
inline void cluster_wait() { cluster_barrier(); }
inline void begin_exchange(void*) {}
inline void expect_exchange(void*, int) {}
inline void await_exchange(void*) { cluster_barrier(); }
template <class T>
T cluster_read(const T* place, int rank) {
  const auto offset = reinterpret_cast<const unsigned char*>(place) - emulated::current->block->shared.data();
  return *reinterpret_cast<const T*>((*emulated::blocks)[static_cast<std::size_t>(rank)].shared.data() + offset);
}
template <class T>
void cluster_write(T* place, int rank, T x) {
  const auto offset = reinterpret_cast<const unsigned char*>(place) - emulated::current->block->shared.data();
  *reinterpret_cast<T*>((*emulated::blocks)[static_cast<std::size_t>(rank)].shared.data() + offset) = x;
}
template <int kCount, class T>
void exchange_write(T* place, int rank, const T* x, void*) {
  for (int i = 0; i < kCount; ++i) cluster_write(place + i, rank, x[i]);
}

inline float __int_as_float(int x) {
  float y;
  std::memcpy(&y, &x, 4);
  return y;
}
inline int __float_as_int(float x) {
  int y;
  std::memcpy(&y, &x, 4);
  return y;
}
inline float __uint_as_float(unsigned x) { return __int_as_float(static_cast<int>(x)); }
inline double __longlong_as_double(long long x) {
  double y;
  std::memcpy(&y, &x, 8);
  return y;
}
inline long long __double_as_longlong(double x) {
  long long y;
  std::memcpy(&y, &x, 8);
  return y;
}
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned long long atomicCAS(unsigned long long* place, unsigned long long expected, unsigned long long value) {
  const unsigned long long old = *place;
  if (old == expected) *place = value;
  return old;
}
template <class T>
T atomicAdd(T* place, T value) {
  const T old = *place;
  *place = old + value;
  return old;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline double erfinv(double y) {  // Newton's method from Winitzki's start
  if (!(std::abs(y) < 1)) return std::abs(y) == 1 ? std::copysign(HUGE_VAL, y) : NAN;
  if (y == 0) return y;
  const double a = 0.147, l = std::log1p(-y * y), b = 2 / (M_PI * a) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - l / a) - b), y);
  for (int i = 0; i < 4; ++i) {
    const double error = std::abs(y) > 0.5 ? std::copysign(1.0, y) * ((1 - std::abs(y)) - std::erfc(std::abs(x))) : std::erf(x) - y;
    x -= error / (M_2_SQRTPI * std::exp(-x * x));
  }
  return x;
}
inline float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
