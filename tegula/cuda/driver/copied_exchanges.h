#pragma once
// Exchanges of two GPUs that see each other's memory, of numbers that their copy engines carry: no multiprocessor waits or moves bytes, so what runs beside keeps
// them all. Each rank copies its numbers into a box in the other's memory and the exchange's number behind them; a kernel takes them once they have come.

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// The buffers shared by the calls of a rank: a box, and the flags after it, at the same offsets in both ranks' memory.
class CopiedExchanges {
 public:
  /// `box`: its bytes, a multiple of 256. `rank`: 0 or 1.
  CopiedExchanges(Context& context, int rank, std::int64_t box, CUdeviceptr here, CUdeviceptr there, const std::uint32_t* stop);
  /// Bytes that one rank's memory must hold; 0 for none.
  static std::size_t bytes(std::int64_t box);
  /// The bytes that the box must hold; 0 for collectives not exchanged this way: all but sums and means of floats (all-reduce, reduce-scatter) and gathers.
  static std::int64_t bytes_sent(const runtime::Collective& what);
  static std::unique_ptr<runtime::Call> call(std::shared_ptr<const CopiedExchanges> exchanges, const runtime::Collective& what);

 private:
  class Exchange;
  Context& context_;
  int rank_;
  CUdeviceptr here_, there_;  // boxes
  std::size_t meeting_;  // behind them
};

}  // namespace tegula::gpu
