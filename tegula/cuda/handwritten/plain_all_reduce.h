#pragma once
// A small all-reduce as one kernel of each rank: it writes its numbers straight into a box in every other rank's memory, and adds up what has come into its own
// (the one-shot of NVIDIA's and Microsoft's libraries, with NCCL's LL lines). Every rank sends all of its numbers to every other, twice as wide: good while what counts is
// how long a message takes. Sums are taken in the order of ranks and rounded once.

#include <cstddef>
#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

inline constexpr int kMostReducingRanks = 8;

/// The kernel's data about its rank, in device memory. Zeros but for what is set once; `exchange` and `finished` are the kernel's.
struct AllReduceState {
  std::uint32_t exchange = 0, finished = 0, rank = 0, unused = 0;
  const std::uint32_t* stop = nullptr;  // not 0: waiting is in vain
  void* to[kMostReducingRanks] = {};  // in rank r's memory: this rank's two boxes
  void* from[kMostReducingRanks] = {};  // here: those of rank r
};

struct PlainAllReduce {
  DType dtype = DType::f32;  // of floats
  std::int64_t count = 0;
  int ranks = 2;
  bool mean = false;
  std::int64_t box_bytes = 0;  // of numbers that a box has room for; the same in all kernels of a state
};

/// Memory of one of a rank's boxes: a line of 16 bytes for 8 bytes of numbers.
constexpr std::size_t all_reduce_box(std::int64_t bytes) { return static_cast<std::size_t>(bytes) * 2; }

/// (in, out, state) -> the sums or means, the same bits on all ranks. in may be out. All ranks run the same kernels on their states in the same order.
PlainKernel all_reduce_kernel(const PlainAllReduce& description);

/// Two ranks whose copy engines carry the numbers (driver/copied_exchanges.h): what they know of each other, in device memory. `arrived` and `theirs` are the
/// other rank's to write.
struct CopyMeeting {
  std::uint32_t next = 1;  // the number of the exchange that is next or under way
  std::uint32_t arrived = 0;  // of the last whose numbers have come
  std::uint32_t theirs = 0;  // of the last for which the other one needs its box no longer
  std::uint32_t blocks = 0;  // that are over with this one
  const std::uint32_t* stop = nullptr;  // not 0: waiting is in vain
  std::uint32_t* tell = nullptr;  // the other's `theirs`
};

/// (meeting) -> waits until the other rank needs what lies in its box no longer.
PlainKernel wait_for_box_kernel();
/// (in, out, box, meeting) -> in and what comes into the box, added up, or their mean; waits for it. in may be out.
PlainKernel add_arrived_kernel(DType dtype, std::int64_t count, bool mean);
/// (in, out, box, meeting) -> in and what comes into the box, `bytes` each, one behind the other in the order of ranks; this one is `rank`.
PlainKernel join_arrived_kernel(std::int64_t bytes, int rank);

}  // namespace tegula::gpu
