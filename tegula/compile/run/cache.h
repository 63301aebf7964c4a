#pragma once
// Executables by the structure of their graph.

#include <functional>

#include "tegula/compile/run/executable.h"

namespace tegula::compile {

/// How often a structure was found or had to be compiled.
struct CacheCounters {
  std::uint64_t hits = 0, misses = 0;
};
CacheCounters cache_counters();

/// The executable for this structure; keys are compared in full. The oldest is let go beyond a bound.
std::shared_ptr<Executable> cached(const Words& key, const std::function<std::unique_ptr<Executable>()>& compile);

/// Lets all of them go that nobody runs, and their memory; false when there was none.
bool forget_executables();

}  // namespace tegula::compile
