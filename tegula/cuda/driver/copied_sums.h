#pragma once
// Sums of two GPUs that see each other's memory, of numbers that their copy engines carry: no multiprocessor waits or moves bytes, so what runs beside keeps
// them all. Each rank copies its numbers into a box in the other's memory and the sum's number behind them; a kernel adds them up once they have come.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// What the calls of a rank share: a box, and the words behind it, at the same places of both ranks' memory.
class CopiedSums {
 public:
  /// `box`: its bytes, a multiple of 256.
  CopiedSums(Context& context, std::int64_t box, CUdeviceptr here, CUdeviceptr there, const std::uint32_t* stop);
  /// That one rank's memory has to hold; 0 for none.
  static std::size_t bytes(std::int64_t box);
  /// An all-reduce of floats, their sum or mean, for which the box has room.
  static std::unique_ptr<runtime::Call> call(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what);

 private:
  class Sum;
  Context& context_;
  CUdeviceptr here_, there_;  // boxes
  std::size_t meeting_;  // behind them
};

}  // namespace tegula::gpu
