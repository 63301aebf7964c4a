#pragma once
// The costs of work on the CPU.

#include "tegula/runtime/costs.h"

namespace tegula::host {

/// The same table on all machines: results must not depend on which one it is.
inline const runtime::Costs& costs() {
  static constexpr runtime::Costs table{
      .bytes_per_second = {25e9, "one thread of a Xeon of 2023"},
      .tile_operations_per_second = {15e9, "one thread of a Xeon of 2023, bench_executor"},
      .call_operations_per_second = {80e9, "one thread of a Xeon of 2023, bench_library"},
      .threads_seconds = {40e-6, "a fork and join takes about 2 us, 10 to 20 beside a busy process"},
      .awake_seconds = {10e-6, "as threads_seconds"},
      .streaming_bytes = {24 << 20, "the last-level caches of machines from 2017 on"},
      .transposed_per_second = {0.65e9, "one thread of a Xeon of 2023"},
      .packed_element_seconds = {0.1e-9, "a tenth to a third of a nanosecond, one thread of a Xeon of 2023"},
      .library_operations = {4e6, "oneDNN's products, bench_library"}};
  return table;
}

}  // namespace tegula::host
