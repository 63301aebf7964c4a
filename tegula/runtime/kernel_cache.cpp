#include "tegula/runtime/kernel_cache.h"

#include <map>
#include <mutex>
#include <vector>

namespace tegula::runtime {
namespace {

struct Cache {
  std::mutex mutex;
  std::map<std::pair<int, std::vector<std::uint64_t>>, std::shared_ptr<const Kernel>> kernels;
  KernelCacheCounters counters;
};

Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

}  // namespace

std::shared_ptr<const Kernel> compiled(Device& device, const tile::Program& program, const std::vector<std::uint64_t>& structure) {
  Cache& c = cache();
  std::scoped_lock lock(c.mutex);
  auto& kernel = c.kernels[{device.number(), structure}];
  if (kernel) {
    c.counters.hits++;
  } else {
    kernel = device.compile(program);
    c.counters.misses++;
  }
  return kernel;
}

KernelCacheCounters kernel_cache_counters() {
  std::scoped_lock lock(cache().mutex);
  return cache().counters;
}

}  // namespace tegula::runtime
