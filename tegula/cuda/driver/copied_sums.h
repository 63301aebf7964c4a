#pragma once
// Sums of two GPUs that see each other's memory, of numbers that their copy engines carry: no multiprocessor waits or moves bytes, so what runs beside keeps
// them all. Each rank copies its numbers, part by part, into a box in the other's memory and their number behind them; a kernel adds up a part once it has come.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// What the calls of a rank share: boxes, and the words behind them, at the same places of both ranks' memory.
class CopiedSums {
 public:
  /// `boxes`: bytes of all boxes together, a multiple of kBoxes * 256.
  CopiedSums(Context& context, std::int64_t boxes, CUdeviceptr here, CUdeviceptr there, const std::uint32_t* stop);
  /// That one rank's memory has to hold; 0 for none.
  static std::size_t bytes(std::int64_t boxes);
  /// An all-reduce of floats, their sum or mean.
  static std::unique_ptr<runtime::Call> call(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what);

  static constexpr int kBoxes = 4;

 private:
  class Sum;
  CUdeviceptr turn(CUdeviceptr memory, int box) const;

  Context& context_;
  std::int64_t box_;
  CUdeviceptr here_, there_;
};

}  // namespace tegula::gpu
