// Reductions and order across threads.

#pragma region Across
// ---- Across threads. The order of every reduction is fixed by the shape of the tile.
template <class T> struct Least { static __device__ inline T value() { return -infinite<T>(); } };
template <> struct Least<long long> { static __device__ inline long long value() { return -9223372036854775807ll - 1; } };
template <> struct Least<int> { static __device__ inline int value() { return -2147483647 - 1; } };
template <> struct Least<unsigned long long> { static __device__ inline unsigned long long value() { return 0; } };
template <> struct Least<unsigned int> { static __device__ inline unsigned int value() { return 0; } };
template <> struct Least<bool> { static __device__ inline bool value() { return false; } };
template <class T> struct Greatest { static __device__ inline T value() { return infinite<T>(); } };
template <> struct Greatest<long long> { static __device__ inline long long value() { return 9223372036854775807ll; } };
template <> struct Greatest<int> { static __device__ inline int value() { return 2147483647; } };
template <> struct Greatest<unsigned long long> { static __device__ inline unsigned long long value() { return ~0ull; } };
template <> struct Greatest<unsigned int> { static __device__ inline unsigned int value() { return ~0u; } };
template <> struct Greatest<bool> { static __device__ inline bool value() { return true; } };

template <class T> struct Sum { static __device__ inline T nothing() { return T(0); } static __device__ inline T of(T a, T b) { return a + b; } };
template <class T> struct Prod { static __device__ inline T nothing() { return T(1); } static __device__ inline T of(T a, T b) { return a * b; } };
template <class T> struct Min { static __device__ inline T nothing() { return Greatest<T>::value(); } static __device__ inline T of(T a, T b) { return smaller(a, b); } };
template <class T> struct Max { static __device__ inline T nothing() { return Least<T>::value(); } static __device__ inline T of(T a, T b) { return larger(a, b); } };
template <class T> struct Any { static __device__ inline T nothing() { return T(0); } static __device__ inline T of(T a, T b) { return a | b; } };
template <class T> struct All { static __device__ inline T nothing() { return static_cast<T>(~T(0)); } static __device__ inline T of(T a, T b) { return a & b; } };
template <> struct All<bool> { static __device__ inline bool nothing() { return true; } static __device__ inline bool of(bool a, bool b) { return a && b; } };

/// The largest or smallest of a vector of halves, two at a time: comparing needs no widening.
#if !defined(TEGULA_EMULATED) && __CUDA_ARCH__ >= 800
__device__ inline unsigned int pair_of(Max<float>, BFloat16, unsigned int a, unsigned int b) { unsigned int y; asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y; }
__device__ inline unsigned int pair_of(Min<float>, BFloat16, unsigned int a, unsigned int b) { unsigned int y; asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y; }
__device__ inline unsigned int pair_of(Max<float>, Float16, unsigned int a, unsigned int b) { unsigned int y; asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y; }
__device__ inline unsigned int pair_of(Min<float>, Float16, unsigned int a, unsigned int b) { unsigned int y; asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y; }
#endif
template <class Op, class T, int kWide>
__device__ inline float of_vector(const Wide<T, kWide>& x) {
#if !defined(TEGULA_EMULATED) && __CUDA_ARCH__ >= 800
  union { unsigned int word; T halves[2]; } best;
  const unsigned int* words = reinterpret_cast<const unsigned int*>(&x);
  best.word = words[0];
#pragma unroll
  for (int i = 1; i < kWide / 2; ++i) best.word = pair_of(Op(), T(), best.word, words[i]);
  return Op::of(widen(best.halves[0]), widen(best.halves[1]));
#else
  float best = widen(x.x[0]);
  for (int i = 1; i < kWide; ++i) best = Op::of(best, widen(x.x[i]));
  return best;
#endif
}

/// A value and where it stands; at < 0: nothing yet.
template <class T> struct Placed { T value; int at; };
/// The first of equals; a NaN wins. kBelow: the smallest, else the largest.
template <class T, bool kBelow>
struct Best {
  static __device__ inline Placed<T> nothing() { return {T(0), -1}; }
  static __device__ inline Placed<T> of(Placed<T> a, Placed<T> b) {
    if (b.at < 0) return a;
    if (a.at < 0) return b;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool equal = a_nan ? b_nan : a.value == b.value;
    if (equal) return a.at < b.at ? a : b;
    if (a_nan || b_nan) return a_nan ? a : b;
    return (kBelow ? a.value < b.value : b.value < a.value) ? a : b;
  }
};

template <class T> __device__ inline T exchanged(T x, int distance) { return __shfl_xor_sync(0xffffffffu, x, distance); }
__device__ inline bool exchanged(bool x, int distance) { return __shfl_xor_sync(0xffffffffu, static_cast<int>(x), distance) != 0; }
template <class T> __device__ inline Placed<T> exchanged(Placed<T> x, int distance) { return {exchanged(x.value, distance), exchanged(x.at, distance)}; }

#ifndef TEGULA_EMULATED
#if __CUDA_ARCH__ >= 900
__device__ inline int cluster_rank() { int rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }
/// Every thread of every block of the cluster; what was written to shared memory before is seen after.
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// Between the two lies the start of every block: what comes behind the wait may write to the others. Relaxed: nothing but counters is handed
/// over, which have a fence of their own, and a release would wait for the copies that are on their way.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/// A word of 64 bits that counts the bytes that arrive in this block; one thread begins it before cluster_arrive() and says how many they are
/// behind cluster_wait(): some may have come by then, the count goes below zero and back.
__device__ inline void begin_exchange(void* counter) {
  const unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(counter));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(here) : "memory");
}
__device__ inline void expect_exchange(void* counter, int bytes) {
  const unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(counter));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(here), "r"(bytes) : "memory");
}
/// Writes to the same place in the shared memory of block `rank` and tells its counter.
template <int kCount, class T>
__device__ inline void exchange_write(T* place, int rank, const T* x, void* counter) {
  unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(place)), there, told;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(told) : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(counter))), "r"(rank));
  constexpr int kWords = kCount * static_cast<int>(sizeof(T) / 4), kPair = kWords % 2 == 0 ? 2 : 1;
  union { T values[kCount]; unsigned int words[kWords]; } parts;
#pragma unroll
  for (int i = 0; i < kCount; ++i) parts.values[i] = x[i];
#pragma unroll
  for (int i = 0; i < kWords; i += kPair) {
    if constexpr (kPair == 2) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" :: "r"(there + 4 * i), "r"(parts.words[i]), "r"(parts.words[i + 1]), "r"(told) : "memory");
    else asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" :: "r"(there + 4 * i), "r"(parts.words[i]), "r"(told) : "memory");
  }
}
/// Waits until all that was expected is there, in this block's scope, as the counter lies in its own memory: a wider one would empty the first-level cache.
__device__ inline void await_exchange(void* counter) {
  const unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(counter));
  unsigned int done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(here) : "memory");
  } while (done == 0);
}
/// The same place in the shared memory of block `rank`.
template <class T>
__device__ inline void cluster_write(T* place, int rank, T x) {
  unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(place)), there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  if constexpr (sizeof(T) < 4) {
    asm volatile("st.shared::cluster.u8 [%0], %1;" :: "r"(there), "r"(static_cast<unsigned int>(x)) : "memory");
  } else {
    union { T value; unsigned int words[sizeof(T) / 4]; } parts;
    parts.value = x;
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there + 4 * i), "r"(parts.words[i]) : "memory");
    }
  }
}
#else
__device__ inline int cluster_rank() { return 0; }
__device__ inline void cluster_barrier() { __syncthreads(); }
__device__ inline void cluster_arrive() {}
__device__ inline void cluster_wait() { __syncthreads(); }
template <class T> __device__ inline void cluster_write(T* place, int, T x) { *place = x; }
__device__ inline void begin_exchange(void*) {}
__device__ inline void expect_exchange(void*, int) {}
template <int kCount, class T> __device__ inline void exchange_write(T* place, int, const T* x, void*) { for (int i = 0; i < kCount; ++i) place[i] = x[i]; }
__device__ inline void await_exchange(void*) { __syncthreads(); }
#endif
#endif

/// Two values over rows of a few warps: each half of a warp brings one of them together, and every thread reads the parts of all warps.
/// `parts` is the row's own.
template <class Op, int kWarps, class T>
__device__ inline void combine_pair(T* x, T* parts) {
  const int warp = threadIdx.x / 32 % kWarps, lane = threadIdx.x % 32;
  const bool second = lane >= 16;
  T mine = Op::of(second ? x[1] : x[0], exchanged(second ? x[0] : x[1], 16));
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) mine = Op::of(mine, exchanged(mine, distance));
  if (lane % 16 == 0) parts[2 * warp + lane / 16] = mine;
  __syncthreads();
  constexpr int kWide = kWarps % 2 == 0 && sizeof(T) == 4 ? 4 : 2;
  alignas(16) T all[2 * kWarps];
#pragma unroll
  for (int i = 0; i < 2 * kWarps; i += kWide) *reinterpret_cast<Wide<T, kWide>*>(all + i) = *reinterpret_cast<const Wide<T, kWide>*>(parts + i);
#pragma unroll
  for (int reach = 1; reach < kWarps; reach *= 2) {
#pragma unroll
    for (int w = 0; w + reach < kWarps; w += 2 * reach) {
      all[2 * w] = Op::of(all[2 * w], all[2 * (w + reach)]);
      all[2 * w + 1] = Op::of(all[2 * w + 1], all[2 * (w + reach) + 1]);
    }
  }
  x[0] = all[0], x[1] = all[1];
}

/// Combines x[i] over the kColumns threads of each row of threads, and over the cluster; all of them get the result. `shared` is this
/// reduction's own: [kRows][kWarps][kCount] parts of the warps, then [kRows][kCluster][kCount] parts of the blocks. kAgain: it may have been
/// used before. If it was not, a cluster has no barrier at all: every warp tells every block, `shared` is [kRows][kCluster][kWarps][kCount],
/// and `counter`, begun, expects all of it.
template <class Op, int kRows, int kColumns, int kCluster, int kCount, bool kAgain, class T>
__device__ inline void combine_columns(T* x, unsigned char* shared, [[maybe_unused]] void* counter = nullptr) {
  constexpr int kWarpColumns = kColumns < 32 ? kColumns : 32, kWarps = kColumns / kWarpColumns;
  if constexpr (kCount == 2 && kWarps > 1 && kWarps <= 8 && kCluster == 1 && sizeof(T) <= 8) {
    if constexpr (kAgain) __syncthreads();
    return combine_pair<Op, kWarps>(x, reinterpret_cast<T*>(shared) + threadIdx.x / kColumns * kWarps * kCount);
  }
  constexpr bool kCounted = kCluster > 1 && !kAgain && kColumns >= 32 && sizeof(T) >= 4;
  if (kCounted && threadIdx.x == 0) expect_exchange(counter, kRows * kCluster * kWarps * kCount * static_cast<int>(sizeof(T)));
#pragma unroll
  for (int distance = kWarpColumns / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = Op::of(x[i], exchanged(x[i], distance));
  }
  if constexpr (kCounted) {
    constexpr int kParts = kCluster * kWarps, kLanes = kParts > 16 ? 32 : kParts > 8 ? 16 : kParts > 4 ? 8 : kParts > 2 ? 4 : 2;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / kWarps;
    T* const parts = reinterpret_cast<T*>(shared) + row * kParts * kCount;
    if (lane < kCluster) exchange_write<kCount>(parts + (cluster_rank() * kWarps + warp % kWarps) * kCount, lane, x, counter);
    await_exchange(counter);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      x[i] = Op::nothing();
#pragma unroll
      for (int part = lane % kLanes; part < kParts; part += kLanes) x[i] = Op::of(x[i], parts[part * kCount + i]);
    }
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = Op::of(x[i], exchanged(x[i], distance));
    }
    return;
  }
  if constexpr (kWarps > 1) {
    constexpr int kLanes = kWarps > 16 ? 32 : kWarps > 8 ? 16 : kWarps > 4 ? 8 : kWarps > 2 ? 4 : 2;
    T* parts = reinterpret_cast<T*>(shared);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, first = thread / kColumns * kWarps;
    if constexpr (kAgain) __syncthreads();
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) parts[warp * kCount + i] = x[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      x[i] = lane % kLanes < kWarps ? parts[(first + lane % kLanes) * kCount + i] : Op::nothing();
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) x[i] = Op::of(x[i], exchanged(x[i], distance));
    }
  }
  if constexpr (kCluster > 1) {
    // Every block writes its part into all of them.
    T* totals = reinterpret_cast<T*>(shared) + kRows * kWarps * kCount;
    const int row = threadIdx.x / kColumns, column = threadIdx.x % kColumns, rank = cluster_rank();
    if constexpr (kAgain) cluster_barrier();
    if (column < kCluster) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        cluster_write(totals + (row * kCluster + rank) * kCount + i, column, x[i]);
      }
    }
    cluster_barrier();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      T total = totals[row * kCluster * kCount + i];
#pragma unroll
      for (int block = 1; block < kCluster; ++block) total = Op::of(total, totals[(row * kCluster + block) * kCount + i]);
      x[i] = total;
    }
  }
}

template <class Op, int kColumns, int kCount, class T>
__device__ inline void combine_rows_of_warp(T* x) {
#pragma unroll
  for (int distance = 16; distance >= kColumns; distance /= 2) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = Op::of(x[i], exchanged(x[i], distance));
  }
}
/// The same, but each value in one thread of the column only, or in all that differ in `idle`: at each step a thread gives away half of what it keeps, and one
/// that holds a single value keeps it. x[i] becomes value i + what is returned, of which there are `count`. The same sums of the same terms.
template <int kDistance, int kColumns, int kCount, bool kTogether = (kDistance < kColumns)>
struct SharedRows {
  static constexpr bool kHalves = kCount % 2 == 0;
  using Next = SharedRows<kDistance / 2, kColumns, kHalves ? kCount / 2 : kCount>;
  static constexpr int count = Next::count, idle = Next::idle | (kHalves ? 0 : kDistance);
  template <class Op, class T>
  static __device__ inline int combine(T* x) {
    constexpr int kKept = kHalves ? kCount / 2 : kCount, kOther = kHalves ? kKept : 0;
    const bool second = kHalves && (threadIdx.x & kDistance) != 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const T given = second ? x[i] : x[kOther + i], kept = second ? x[kOther + i] : x[i];
      x[i] = Op::of(kept, exchanged(given, kDistance));
    }
    return (second ? kKept : 0) + Next::template combine<Op>(x);
  }
};
template <int kDistance, int kColumns, int kCount>
struct SharedRows<kDistance, kColumns, kCount, true> {
  static constexpr int count = kCount, idle = 0;
  template <class Op, class T>
  static __device__ inline int combine(T*) { return 0; }
};
/// Combines, in a warp, the elements at the beginnings of kLines lines.
template <class Op, int kLines, class T>
__device__ inline T combine_lines(const T* parts, int pitch) {
  const int lane = threadIdx.x % 32;
  T total = lane < kLines ? parts[lane * pitch] : Op::nothing();
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) total = Op::of(total, exchanged(total, distance));
  return total;
}

/// Combines x[i] over the threads with the same column; all of them get the result. kAtOnce values at a time meet in shared memory, between
/// two barriers. If many lines meet, the lanes of a warp take one each, warps the places in turn: one after the other they would wait for memory.
template <class Op, int kRows, int kColumns, int kCount, int kAtOnce = (kCount < 8 ? kCount : 8), class T>
__device__ inline void combine_rows(T* x, unsigned char* shared) {
  constexpr int kWarpRows = kColumns < 32 ? 32 / kColumns : 1, kLines = kRows < kWarpRows ? 1 : kRows / kWarpRows;
  constexpr bool kShares = kLines > 1 && kColumns <= 16 && kAtOnce % 2 == 0 && kCount % kAtOnce == 0;
  if constexpr (!kShares) combine_rows_of_warp<Op, kColumns, kCount>(x);
  if constexpr (kLines > 1) {
    constexpr int kPlaces = kAtOnce * kColumns, kWarps = kRows * kColumns / 32;
    constexpr bool kByLanes = kLines >= 16 && kLines <= 32 && kPlaces <= 4 * kWarps, kEachWarp = kPlaces <= 4;
    constexpr int kPitch = kPlaces + (kByLanes ? 1 : 0);
    T* parts = reinterpret_cast<T*>(shared);
    const int row = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
#pragma unroll
    for (int first = 0; first < kCount; first += kAtOnce) {
      if constexpr (kShares) {
        using Shared = SharedRows<16, kColumns, kAtOnce>;
        const int held = Shared::template combine<Op>(x + first);
        __syncthreads();
        if ((threadIdx.x & Shared::idle) == 0) {
#pragma unroll
          for (int i = 0; i < Shared::count; ++i) parts[row / kWarpRows * kPitch + (held + i) * kColumns + column] = x[first + i];
        }
      } else {
        __syncthreads();
        if (row % kWarpRows == 0) {
#pragma unroll
          for (int i = 0; i < kAtOnce && first + i < kCount; ++i) parts[row / kWarpRows * kPitch + i * kColumns + column] = x[first + i];
        }
      }
      __syncthreads();
      if constexpr (kByLanes && kEachWarp) {
#pragma unroll
        for (int place = 0; place < kPlaces; ++place) {
          const T total = combine_lines<Op, kLines>(parts + place, kPitch);
          if (place % kColumns == column && first + place / kColumns < kCount) x[first + place / kColumns] = total;
        }
        continue;
      }
      if constexpr (kByLanes) {
#pragma unroll
        for (int place = threadIdx.x / 32; place < kPlaces; place += kWarps) {
          const T total = combine_lines<Op, kLines>(parts + place, kPitch);
          if (threadIdx.x % 32 == 0) parts[place] = total;
        }
        __syncthreads();
      }
#pragma unroll
      for (int i = 0; i < kAtOnce && first + i < kCount; ++i) {
        T total = parts[i * kColumns + column];
        if constexpr (!kByLanes) {
#pragma unroll 8
          for (int line = 1; line < kLines; ++line) total = Op::of(total, parts[line * kPitch + i * kColumns + column]);
        }
        x[first + i] = total;
      }
    }
  }
}

/// The same of values that all threads of a row hold: each warp has one of each.
template <class Op, int kRows, int kColumns, int kCount, class T>
__device__ inline void combine_rows_alike(T* x, unsigned char* shared) {
  constexpr int kWarpRows = 32 / kColumns, kLines = kRows < kWarpRows ? 1 : kRows / kWarpRows;
  combine_rows_of_warp<Op, kColumns, kCount>(x);
  if constexpr (kLines > 1) {
    T* const parts = reinterpret_cast<T*>(shared);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) parts[threadIdx.x / 32 * kCount + i] = x[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = combine_lines<Op, kLines>(parts + i, kCount);
  }
}

/// The same for several arrays at once, of which only the first row of threads gets the result: every thread adds up a share of the places.
/// `shared` holds all values of all threads. Little code, as it runs once, when none of it is in the instruction cache.
template <class Op, int kRows, int kColumns, int kCount, class T, class... More>
__device__ inline void combine_rows_for_first(unsigned char* shared, T* x, More*... more) {
  constexpr int kMost = 16 / sizeof(T), kWide = kCount % kMost == 0 ? kMost : 1, kVectors = kCount / kWide, kPlaces = kVectors * kColumns;
  constexpr int kWarpRows = kColumns < 32 ? 32 / kColumns : 1, kLines = kRows / kWarpRows, kArrays = 1 + sizeof...(More);
  Wide<T, kWide>* const parts = reinterpret_cast<Wide<T, kWide>*>(shared);
  const int row = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
  T* const arrays[kArrays] = {x, more...};
#pragma unroll
  for (int array = 0; array < kArrays; ++array) combine_rows_of_warp<Op, kColumns, kCount>(arrays[array]);
  __syncthreads();
  if (row % kWarpRows == 0) {
#pragma unroll
    for (int array = 0; array < kArrays; ++array) {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        parts[(row / kWarpRows * kArrays + array) * kPlaces + i / kWide * kColumns + column].x[i % kWide] = arrays[array][i];
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int place = threadIdx.x; place < kArrays * kPlaces; place += kRows * kColumns) {
    Wide<T, kWide> total = parts[place];
#pragma unroll
    for (int line = 1; line < kLines; ++line) {
      const Wide<T, kWide> part = parts[line * kArrays * kPlaces + place];
#pragma unroll
      for (int k = 0; k < kWide; ++k) total.x[k] = Op::of(total.x[k], part.x[k]);
    }
    parts[place] = total;
  }
  __syncthreads();
  if (row > 0) return;
#pragma unroll
  for (int array = 0; array < kArrays; ++array) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) arrays[array][i] = parts[array * kPlaces + i / kWide * kColumns + column].x[i % kWide];
  }
}

// ---- Tiles that lie in shared memory, row-major; lines of `length` elements at distance `stride`.
/// Inclusive (Hillis and Steele, "Data parallel algorithms", 1986). `other` is a second buffer; the result lies in the returned one.
template <class Op, class T>
__device__ inline T* scan_shared(T* tile, T* other, int count, int length, int stride) {
  for (int reach = 1; reach < length; reach *= 2) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      const int position = i / stride % length;
      other[i] = position >= reach ? Op::of(tile[i - reach * stride], tile[i]) : tile[i];
    }
    __syncthreads();
    T* const swapped = tile;
    tile = other;
    other = swapped;
  }
  return tile;
}

template <class T> __device__ inline bool comes_before(T a, T b) { return a < b || (b != b && a == a); }
/// The elements of every line in order, by merging ever longer runs: an element's place is its own plus its rank in the run beside it.
/// `order` and `other` hold positions along the line; the result is in the returned one. Stable.
template <class T>
__device__ inline int* sort_shared(const T* tile, int* order, int* other, int count, int length, int stride, bool descending) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) order[i] = i / stride % length;
  __syncthreads();
  for (int run = 1; run < length; run *= 2) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      const int position = i / stride % length, line = i - position * stride;
      const int begin = position / (2 * run) * (2 * run), middle = begin + run, end = begin + 2 * run < length ? begin + 2 * run : length;
      const bool first = position < middle;
      const T x = tile[line + order[i] * stride];
      int low = first ? (middle < length ? middle : length) : begin, high = first ? end : middle;
      const int other_begin = low;
      while (low < high) {  // how many of the other run stand before x; equal ones do where theirs is the first run
        const int half = (low + high) / 2;
        const T y = tile[line + order[line + half * stride] * stride];
        const bool strictly = descending ? comes_before(x, y) : comes_before(y, x);
        const bool behind = descending ? comes_before(y, x) : comes_before(x, y);
        if (first ? strictly : !behind) low = half + 1;
        else high = half;
      }
      other[line + (begin + (position - (first ? begin : middle)) + (low - other_begin)) * stride] = order[i];
    }
    __syncthreads();
    int* const swapped = order;
    order = other;
    other = swapped;
  }
  return order;
}

// ---- Effects in the order of the elements, for places that may be named more than once: every place belongs to one thread.
__device__ inline unsigned int owner_of(const void* place) {
  const unsigned long long line = reinterpret_cast<unsigned long long>(place) >> 3;
  return static_cast<unsigned int>((line * 0x9E3779B97F4A7C15ull) >> 40);
}
template <bool kAdd, class T, class U>
__device__ inline void write_in_order(T* const* places, const U* values, int count, unsigned int owners, unsigned int owner) {
  for (int i = 0; i < count; ++i) {
    T* const place = places[i];
    if (place == nullptr || owner_of(place) % owners != owner) continue;
    if constexpr (kAdd) narrow(Sum<U>::of(widen(*place), values[i]), *place);
    else narrow(values[i], *place);
  }
}
template <class T> struct Either { static __device__ inline T of(T a, T b) { return a ^ b; } };
template <class T> struct Latter { static __device__ inline T of(T, T b) { return b; } };
/// The same for atomic words. kKeeps: `values` holds what was there before.
template <template <class> class Operation, bool kKeeps, class T, class U>
__device__ inline void change_in_order(T* const* places, U* values, int count, unsigned int owners, unsigned int owner) {
  for (int i = 0; i < count; ++i) {
    T* const place = places[i];
    if (place == nullptr || owner_of(place) % owners != owner) continue;
    const U old = widen(*place);
    narrow(Operation<U>::of(old, values[i]), *place);
    if constexpr (kKeeps) values[i] = old;
  }
}
template <bool kKeeps, class T, class U>
__device__ inline void swap_in_order(T* const* places, U* values, const U* compared, int count, unsigned int owners, unsigned int owner) {
  for (int i = 0; i < count; ++i) {
    T* const place = places[i];
    if (place == nullptr || owner_of(place) % owners != owner) continue;
    const U old = widen(*place);
    if (old == compared[i]) narrow(values[i], *place);
    if constexpr (kKeeps) values[i] = old;
  }
}
#pragma endregion
