#pragma once
// Sums by index as plain kernels (runtime::ScatterSum): the index is sorted, 8 bits of the row a pass and equal rows in their order; then
// every row of the result adds its lines up. Nothing depends on the order in which threads run, and equal rows cost no more than others.
//
// The sorted index is cut into pieces. A row whose lines lie in one piece is summed by the threads that write it; a row that reaches over
// several gets a partial sum from each, so that a row named by all of the index has as many threads at work as any other.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

struct ScatterKernels {
  /// The kernels in the order of their launches. For each pass of the sort "count": (index or keys) -> (table), the first one also clears rows, and
  /// "sort": (index or keys, lines, table) -> sorted (keys, lines), the first one takes no lines. Then "find": (keys, lines, source) ->
  /// (rows, partial sums), and "add": (rows, lines, source, partial sums) -> sums.
  std::vector<PlainKernel> kernels;
  /// Offsets in scratch.
  std::size_t table = 0, rows = 0, partial = 0;
  std::array<std::size_t, 2> keys{}, lines{};
  std::size_t scratch_bytes = 0;

  /// Calls launch(number of the kernel, {pointers}) for each in turn; buffers as in runtime::Call::run.
  template <class Launch>
  void run(std::span<void* const> buffers, void* scratch, Launch&& launch) const {
    const auto at = [&](std::size_t offset) { return static_cast<void*>(static_cast<char*>(scratch) + offset); };
    void* from_keys = buffers[0];
    void* from_lines = nullptr;
    std::size_t next = 0;
    for (std::size_t pass = 0; next + 2 < kernels.size(); ++pass) {
      void *const to_keys = at(keys[pass % 2]), *const to_lines = at(lines[pass % 2]);
      launch(next++, {from_keys, at(table), at(rows)});
      launch(next++, {from_keys, from_lines, at(table), to_keys, to_lines});
      from_keys = to_keys, from_lines = to_lines;
    }
    launch(next++, {from_keys, from_lines, buffers[1], at(rows), at(partial)});
    launch(next++, {at(rows), from_lines, buffers[1], at(partial), buffers[2]});
  }
};
ScatterKernels scatter_kernels(const runtime::ScatterSum& description);

}  // namespace tegula::gpu
