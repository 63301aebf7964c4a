#pragma once
// Tile programs on the CPU: compiled to a row of vector steps, run over threads.

#include <memory>

#include "tegula/runtime/device.h"

namespace tegula::host {

struct ExecutorOptions {
  bool in_place = true;  // false: tiles are always copied in and out (for tests)
  std::int64_t strip = 2048;  // elements of a long tile that are worked on at a time
};

/// Throws Error for a program that the CPU cannot run. Pointer parameters that a program writes must not overlap each other; one that it
/// reads may be the same memory as one that it writes.
std::unique_ptr<runtime::Kernel> compile_program(const tile::Program& program, const ExecutorOptions& options = {});

}  // namespace tegula::host
