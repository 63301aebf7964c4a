#pragma once
// NCCL's communicator as the library's. Knows a device only as a queue, so that the tests run it over a pretended NCCL, without a GPU.

#include <functional>
#include <memory>
#include <string>

#include "tegula/core/buffer.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// The queue of the calls.
struct NcclQueue {
  std::function<void*()> stream;  // cudaStream_t, of this thread's next work; none for a device without
  std::function<bool()> enter;  // makes the device this thread's; false once its driver has shut down
  std::function<void(void* memory, std::size_t bytes)> zero;  // queued
  std::function<void()> queued;  // called behind each call
  Ref<Buffer> word;  // 64 bytes of the device's memory, which mean nothing
};

/// "NCCL 2.28.9". Throws Error where there is none.
std::string nccl_name();
runtime::Communicates::Id draw_nccl_id();
/// Waits for the other ranks. The communicator's calls are to be run by one thread at a time.
std::unique_ptr<runtime::Communicator> join_nccl(NcclQueue queue, const runtime::Communicates::Id& id, int rank, int size);

}  // namespace tegula::gpu
