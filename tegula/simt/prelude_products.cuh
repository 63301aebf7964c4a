// The products of tensor cores. Fragments are PTX's ("Matrix Fragments for mma.m16n8k16" and its neighbours): a register holds 4 bytes of an operand.

#pragma region Products
// ---- Tensor cores.
template <class T, int kNumbers>
__device__ inline unsigned int& word_of(Wide<T, kNumbers>& x) { return *reinterpret_cast<unsigned int*>(&x); }
template <class T, int kNumbers>
__device__ inline unsigned int word_of(const Wide<T, kNumbers>& x) { return *reinterpret_cast<const unsigned int*>(&x); }
template <class T> struct SumOf { typedef float Type; };
template <> struct SumOf<signed char> { typedef int Type; };
template <> struct SumOf<unsigned char> { typedef int Type; };

/// A tensor as the copy engine knows it, made by the driver.
struct alignas(64) TensorMap { unsigned long long words[16]; };

#ifndef TEGULA_EMULATED
/// Four matrices of 8 rows of 16 bytes. kByTerms: of halves, transposed.
template <bool kByTerms, class T, int kNumbers>
__device__ inline void read_matrices(const unsigned char* row, Wide<T, kNumbers> (&to)[4]) {
  const unsigned int place = static_cast<unsigned int>(__cvta_generic_to_shared(row));
  if constexpr (kByTerms) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(word_of(to[0])), "=r"(word_of(to[1])), "=r"(word_of(to[2])), "=r"(word_of(to[3])) : "r"(place) : "memory");
  else asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(word_of(to[0])), "=r"(word_of(to[1])), "=r"(word_of(to[2])), "=r"(word_of(to[3])) : "r"(place) : "memory");
}
#define TEGULA_MULTIPLY(T, kNumbers, SHAPE, LETTER, TYPE)                                                                               \
  __device__ inline void multiply(TYPE (&upper)[2], TYPE (&lower)[2], const Wide<T, kNumbers> (&a)[4], const Wide<T, kNumbers>* b) {    \
    asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                           \
                 : "+" LETTER(upper[0]), "+" LETTER(upper[1]), "+" LETTER(lower[0]), "+" LETTER(lower[1])                               \
                 : "r"(word_of(a[0])), "r"(word_of(a[1])), "r"(word_of(a[2])), "r"(word_of(a[3])), "r"(word_of(b[0])), "r"(word_of(b[1]))); \
  }
#if __CUDA_ARCH__ >= 800
TEGULA_MULTIPLY(Float16, 2, "m16n8k16.row.col.f32.f16.f16.f32", "f", float)
TEGULA_MULTIPLY(BFloat16, 2, "m16n8k16.row.col.f32.bf16.bf16.f32", "f", float)
TEGULA_MULTIPLY(float, 1, "m16n8k8.row.col.f32.tf32.tf32.f32", "f", float)
TEGULA_MULTIPLY(signed char, 4, "m16n8k32.row.col.s32.s8.s8.s32", "r", int)
TEGULA_MULTIPLY(unsigned char, 4, "m16n8k32.row.col.s32.u8.u8.s32", "r", int)
#endif
#if __CUDA_ARCH__ >= 890
TEGULA_MULTIPLY(E4M3, 4, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", float)
TEGULA_MULTIPLY(E5M2, 4, "m16n8k32.row.col.f32.e5m2.e5m2.f32", "f", float)
#endif
#undef TEGULA_MULTIPLY
#if __CUDA_ARCH__ == 900
// Boxes that the copy engine brings (TMA), and what counts their bytes (mbarrier).
__device__ inline unsigned int in_shared(const unsigned char* place) { return static_cast<unsigned int>(__cvta_generic_to_shared(place)); }
__device__ inline void begin_counters(unsigned char* place, int count, int arrivals = 1) {
  for (int i = 0; i < count; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(in_shared(place + 8 * i)), "r"(arrivals) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void end_counters(unsigned char* place, int count) {
  for (int i = 0; i < count; ++i) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(in_shared(place + 8 * i)) : "memory");
}
__device__ inline void expect_bytes(unsigned char* counter, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(in_shared(counter)), "r"(bytes) : "memory");
}
__device__ inline void arrive(unsigned char* counter) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(in_shared(counter)) : "memory"); }
/// At the counter in the same place of the cluster's block of that number. Of this block's scope: a release to the cluster would wait in each iteration for all that
/// the thread has on its way, and what others wait for are reads of tensor cores that are over.
__device__ inline void arrive_in(unsigned char* counter, int block) {
  unsigned int there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(in_shared(counter)), "r"(block));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
}
/// All threads but those that copy for them.
__device__ inline void team_barrier(int threads) { asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory"); }
/// Four warps give registers back until each of their threads has so many; or take them, as soon as there are so many.
template <int kCount> __device__ inline void leave_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(kCount)); }
template <int kCount> __device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(kCount)); }
/// The block's barriers by number, for `threads` threads.
__device__ inline void wait_at(int number, int threads) { asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory"); }
__device__ inline void arrive_at(int number, int threads) { asm volatile("bar.arrive %0, %1;" :: "r"(number), "r"(threads) : "memory"); }
__device__ inline void await_bytes(unsigned char* counter, int parity) {
  unsigned int ended = 0;
  while (!ended) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ended) : "r"(in_shared(counter)), "r"(parity) : "memory");
}
/// Copies what the copy engine would bring if coordinates were addresses, as they are for the program. It is inlined: where a function is called wgmma waits.
template <int kColumns, int kRows, int kPitch, class T>
__device__ inline void copy_plainly(unsigned char* place, unsigned char* counter, const T* from, long long columns, long long rows, long long stride) {
#pragma unroll 1
  for (int row = 0; row < kRows; ++row) {
#pragma unroll 1
    for (int column = 0; column < kColumns; ++column) {
      T one = {};
      if (row < rows && column < columns) one = from[row * stride + column];
      const unsigned int at = in_shared(place) + row * kPitch + column * static_cast<int>(sizeof(T));
      *reinterpret_cast<T*>(place + ((at ^ ((at >> 7 & (kPitch / 16 - 1)) << 4)) - in_shared(place))) = one;
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __threadfence_block();
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(in_shared(counter)), "n"(kRows * kPitch) : "memory");
}
template <int kAxes>
__device__ inline void bring_box(unsigned char* place, const TensorMap& map, unsigned char* counter, const int (&all)[kAxes]) {
  if constexpr (kAxes == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(in_shared(counter)) : "memory");
  if constexpr (kAxes == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(in_shared(counter)) : "memory");
  if constexpr (kAxes == 4) asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]), "r"(in_shared(counter)) : "memory");
  if constexpr (kAxes == 5) asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]), "r"(all[4]), "r"(in_shared(counter)) : "memory");
}
/// The box at (x, y) of the plane that begins at `plane`, which is the one of these numbers along the tensor's further axes.
template <int kColumns, int kRows, int kPitch, class T, class... Planes>
__device__ inline void copy_box(unsigned char* place, const TensorMap& map, unsigned char* counter, const T* plane, long long x, long long y, long long columns, long long rows, long long stride, Planes... planes) {
  const bool known = (static_cast<unsigned long long>(x) >> 31 == 0) && (static_cast<unsigned long long>(y) >> 31 == 0) && (... && (static_cast<unsigned long long>(planes) >> 30 == 0));
  if (!known) return copy_plainly<kColumns, kRows, kPitch>(place, counter, plane + (y * stride + x), columns - x, rows - y, stride);
  const int all[] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(planes)...};
  bring_box(place, map, counter, all);
}
/// The same into the memory of each block of the cluster of which kBlocks has a bit, and there for its counter (multicast).
template <unsigned int kBlocks, int kAxes>
__device__ inline void bring_share(unsigned char* place, const TensorMap& map, unsigned char* counter, const int (&all)[kAxes]) {
  constexpr unsigned short blocks = kBlocks;
  if constexpr (kAxes == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(in_shared(counter)), "h"(blocks) : "memory");
  if constexpr (kAxes == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(in_shared(counter)), "h"(blocks) : "memory");
  if constexpr (kAxes == 4) asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4, %5}], [%6], %7;" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]), "r"(in_shared(counter)), "h"(blocks) : "memory");
  if constexpr (kAxes == 5) asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" :: "r"(in_shared(place)), "l"(&map), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]), "r"(all[4]), "r"(in_shared(counter)), "h"(blocks) : "memory");
}
template <int kColumns, int kRows, int kPitch, class T>
__device__ inline void share_plainly(int block, unsigned char* place, unsigned char* counter, const T* from, long long columns, long long rows, long long stride) {
  unsigned char* there;
  unsigned int told;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(block));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(told) : "r"(in_shared(counter)), "r"(block));
#pragma unroll 1
  for (int row = 0; row < kRows; ++row) {
#pragma unroll 1
    for (int column = 0; column < kColumns; ++column) {
      T one = {};
      if (row < rows && column < columns) one = from[row * stride + column];
      const unsigned int at = in_shared(place) + row * kPitch + column * static_cast<int>(sizeof(T));
      *reinterpret_cast<T*>(there + ((at ^ ((at >> 7 & (kPitch / 16 - 1)) << 4)) - in_shared(place))) = one;
    }
  }
  asm volatile("fence.proxy.async;\nfence.acq_rel.cluster;" ::: "memory");
  asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" :: "r"(told), "n"(kRows * kPitch) : "memory");
}
template <int kColumns, int kRows, int kPitch, unsigned int kBlocks, class T, class... Planes>
__device__ inline void share_box(unsigned char* place, const TensorMap& map, unsigned char* counter, const T* plane, long long x, long long y, long long columns, long long rows, long long stride, Planes... planes) {
  const bool known = (static_cast<unsigned long long>(x) >> 31 == 0) && (static_cast<unsigned long long>(y) >> 31 == 0) && (... && (static_cast<unsigned long long>(planes) >> 30 == 0));
  if (!known) {
#pragma unroll 1
    for (int block = 0; kBlocks >> block != 0; ++block) share_plainly<kColumns, kRows, kPitch>(block, place, counter, plane + (y * stride + x), columns - x, rows - y, stride);
    return;
  }
  const int all[] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(planes)...};
  bring_share<kBlocks>(place, map, counter, all);
}
/// A coordinate of a tensor, which has fewer elements along an axis: beyond its ends there are zeros.
__device__ inline int coordinate_of(long long at) { return at < -(1ll << 30) ? -(1 << 30) : at > 0x7fffffffll ? 0x7fffffff : static_cast<int>(at); }
/// The box at these coordinates of a map that has the sizes of the tensor.
template <class... At>
__device__ inline void copy_inside(unsigned char* place, const TensorMap& map, unsigned char* counter, At... at) {
  const int all[] = {coordinate_of(at)...};
  bring_box(place, map, counter, all);
}
/// Four matrices of 8 rows of 16 bytes, of halves.
template <class T>
__device__ inline void write_matrices(unsigned char* row, const Wide<T, 2> (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(in_shared(row)), "r"(word_of(from[0])), "r"(word_of(from[1])), "r"(word_of(from[2])), "r"(word_of(from[3])) : "memory");
}
/// The same the other way: from shared memory to a tensor.
template <int kColumns, int kRows, int kPitch, class T>
__device__ inline void store_plainly(const unsigned char* place, T* to, long long columns, long long rows, long long stride) {
#pragma unroll 1
  for (int row = 0; row < kRows; ++row) {
#pragma unroll 1
    for (int column = 0; column < kColumns; ++column) {
      if (row >= rows || column >= columns) continue;
      const unsigned int at = in_shared(place) + row * kPitch + column * static_cast<int>(sizeof(T));
      to[row * stride + column] = *reinterpret_cast<const T*>(place + ((at ^ ((at >> 7 & (kPitch / 16 - 1)) << 4)) - in_shared(place)));
    }
  }
}
template <int kAxes>
__device__ inline void leave_box(const unsigned char* place, const TensorMap& map, const int (&all)[kAxes]) {
  if constexpr (kAxes == 2) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" :: "l"(&map), "r"(in_shared(place)), "r"(all[0]), "r"(all[1]) : "memory");
  if constexpr (kAxes == 3) asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" :: "l"(&map), "r"(in_shared(place)), "r"(all[0]), "r"(all[1]), "r"(all[2]) : "memory");
  if constexpr (kAxes == 4) asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" :: "l"(&map), "r"(in_shared(place)), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]) : "memory");
  if constexpr (kAxes == 5) asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" :: "l"(&map), "r"(in_shared(place)), "r"(all[0]), "r"(all[1]), "r"(all[2]), "r"(all[3]), "r"(all[4]) : "memory");
}
template <int kColumns, int kRows, int kPitch, class T, class... Planes>
__device__ inline void store_box(const unsigned char* place, const TensorMap& map, T* plane, long long x, long long y, long long columns, long long rows, long long stride, Planes... planes) {
  const bool known = (static_cast<unsigned long long>(x) >> 31 == 0) && (static_cast<unsigned long long>(y) >> 31 == 0) && (... && (static_cast<unsigned long long>(planes) >> 30 == 0));
  if (!known) return store_plainly<kColumns, kRows, kPitch>(place, plane + (y * stride + x), columns - x, rows - y, stride);
  const int all[] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(planes)...};
  leave_box(place, map, all);
}
template <class... At>
__device__ inline void store_inside(const unsigned char* place, const TensorMap& map, At... at) {
  const int all[] = {coordinate_of(at)...};
  leave_box(place, map, all);
}
__device__ inline void close_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kUnfinished> __device__ inline void await_stores() { asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(kUnfinished) : "memory"); }
/// Sends to the same place in the shared memory of the cluster's block of that number: two numbers, or several of two, of four bytes each.
template <int kCount, class T>
__device__ inline void send_wide(T* place, int rank, const T* x) {
  unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(place)), there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    union { T value; unsigned int word; } first, second;
    first.value = x[i], second.value = x[i + 1];
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" :: "r"(there + 4 * i), "r"(first.word), "r"(second.word) : "memory");
  }
}
// By four warps together (wgmma).
/// Sums that such products are to change, or have changed: the compiler must not take them for what it knew of them before.
__device__ inline void keep_two(float (&x)[2]) { asm volatile("" : "+f"(x[0]), "+f"(x[1]) :: "memory"); }
__device__ inline void keep_two(int (&x)[2]) { asm volatile("" : "+r"(x[0]), "+r"(x[1]) :: "memory"); }
template <class T, int kRows, int kVectors>
__device__ inline void keep_sums(T (&x)[kRows][kVectors][2]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kVectors; ++c) keep_two(x[r][c]);
  }
}
template <int kRows, int kVectors>
__device__ inline void keep_packed(float (&x)[kRows][kVectors][2]) { keep_sums(x); }
template <int kRows, int kVectors>
__device__ inline void keep_packed(int (&x)[kRows][kVectors][2]) { keep_sums(x); }
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kUnfinished> __device__ inline void await_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(kUnfinished) : "memory"); }
__device__ inline void fence_tiles() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// The next multiple of 1024 bytes.
__device__ inline unsigned char* at_tile_line(unsigned char* place) {
  return place + ((1024 - (static_cast<unsigned int>(__cvta_generic_to_shared(place)) & 1023)) & 1023);
}
/// An operand in rows of kPitch bytes, with the swizzle of that size. kBeside: bytes from 64 halves of a row to the next 64.
template <int kPitch, int kBeside>
__device__ inline unsigned long long tile_at(const unsigned char* place) {
  const unsigned long long address = static_cast<unsigned long long>(__cvta_generic_to_shared(place)), swizzle = kPitch == 128 ? 1 : kPitch == 64 ? 2 : 3;
  return (address & 0x3ffff) >> 4 | static_cast<unsigned long long>(kBeside >> 4) << 16 | static_cast<unsigned long long>(8 * kPitch >> 4) << 32 | swizzle << 62;
}
#endif
#else
template <bool kByTerms, class T, int kNumbers>
void read_matrices(const unsigned char* row, Wide<T, kNumbers> (&to)[4]) {
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    for (int number = 0; number < kNumbers; ++number) {
      const unsigned long long from = __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(row), i * 8 + (kByTerms ? lane % 4 * 2 + number : lane / 4));
      const unsigned char* const place = reinterpret_cast<const unsigned char*>(from);
      const T* const there = reinterpret_cast<const T*>(kByTerms ? place + lane / 4 * 2 : place + lane % 4 * 4);
      to[i].x[number] = there[kByTerms ? 0 : number];
    }
  }
}
__device__ inline float added(float a, float b, float sum) { return fmaf(a, b, sum); }
__device__ inline int added(int a, int b, int sum) { return static_cast<int>(static_cast<unsigned int>(sum) + static_cast<unsigned int>(a * b)); }
template <class T, int kNumbers>
void multiply(typename SumOf<T>::Type (&upper)[2], typename SumOf<T>::Type (&lower)[2], const Wide<T, kNumbers> (&a)[4], const Wide<T, kNumbers>* b) {
  const int lane = threadIdx.x % 32;
  for (int half = 0; half < 2; ++half) {
    for (int from = 0; from < 4; ++from) {
      Wide<T, kNumbers> rows[2], columns[2];
      for (int i = 0; i < 2; ++i) {
        word_of(rows[i]) = __shfl_sync(0xffffffffu, word_of(a[half * 2 + i]), lane / 4 * 4 + from);
        word_of(columns[i]) = __shfl_sync(0xffffffffu, word_of(b[half]), (lane % 4 * 2 + i) * 4 + from);
      }
      for (int number = 0; number < kNumbers; ++number) {
        for (int i = 0; i < 2; ++i) {
          upper[i] = added(widen(rows[0].x[number]), widen(columns[i].x[number]), upper[i]);
          lower[i] = added(widen(rows[1].x[number]), widen(columns[i].x[number]), lower[i]);
        }
      }
    }
  }
}
#endif
#pragma endregion
