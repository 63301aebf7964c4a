#include "tegula/compile/run/cache.h"

#include <map>
#include <mutex>

namespace tegula::compile {
namespace {

constexpr std::size_t kMaxExecutables = 512;

struct Cache {
  std::recursive_mutex mutex;  // memory that runs out while something is compiled makes it forget
  std::map<Words, std::pair<std::shared_ptr<Executable>, std::uint64_t>> entries;  // with the time of last use
  std::uint64_t clock = 0;
  CacheCounters counters;
};

Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

}  // namespace

CacheCounters cache_counters() {
  std::scoped_lock lock(cache().mutex);
  return cache().counters;
}

std::shared_ptr<Executable> cached(const Words& key, const std::function<std::unique_ptr<Executable>()>& compile) {
  Cache& c = cache();
  std::scoped_lock lock(c.mutex);
  if (const auto found = c.entries.find(key); found != c.entries.end()) {
    c.counters.hits++;
    found->second.second = ++c.clock;
    return found->second.first;
  }
  c.counters.misses++;
  std::shared_ptr<Executable> made = compile();
  if (c.entries.size() >= kMaxExecutables) {
    auto oldest = c.entries.begin();
    for (auto it = c.entries.begin(); it != c.entries.end(); ++it) {
      if (it->second.second < oldest->second.second) oldest = it;
    }
    c.entries.erase(oldest);
  }
  c.entries[key] = {made, ++c.clock};
  return made;
}

bool forget_executables() {
  std::scoped_lock lock(cache().mutex);
  return std::erase_if(cache().entries, [](const auto& entry) { return entry.second.first.use_count() == 1; }) > 0;
}

}  // namespace tegula::compile
