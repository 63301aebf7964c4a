#pragma once
// Copies between two GPUs of this process (runtime::Device::copy_from).

#include "tegula/cuda/driver/context.h"

namespace tegula::gpu {

/// Queued on `to`'s stream, after the work on both streams; both go on after it. Directly over NVLink or PCI Express if the cards see each other's memory, otherwise
/// the driver goes by way of the host. False while this thread records on either.
bool copy_from_peer(const Context& to, void* to_memory, const Context& from, const void* from_memory, std::size_t bytes);

}  // namespace tegula::gpu
