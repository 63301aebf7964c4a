#pragma once
// Compiled tile programs, shared by all plans of the process.

#include <memory>

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// The kernel of a program on a device, compiled at the first request. `structure` is tile::structure(program).
/// Compared in full after the hash; thread-safe.
std::shared_ptr<const Kernel> compiled(Device& device, const tile::Program& program, const std::vector<std::uint64_t>& structure);

struct KernelCacheCounters {
  std::uint64_t hits = 0, misses = 0;
};
KernelCacheCounters kernel_cache_counters();

}  // namespace tegula::runtime
