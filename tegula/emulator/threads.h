#pragma once
// The threads of a launch on the CPU. A thread of a block is a fiber; barriers and exchanges switch to the next one. A thread runs up to a barrier before the next
// thread begins, in a changing order, so a missing barrier shows. At an even pace all warps go from one exchange to the next together, and copies arrive when they
// begin. At an uneven pace one warp after another, in a random order, goes as far as it can, and copies arrive when they are waited for, not before. Blocks run one
// after another, those of a cluster together.

#include <cstddef>
#include <string>

#include "tegula/emulator/interface.h"

namespace tegula::emulator {

class MemoryCheck;

/// The work of every thread of a launch.
struct Launch {
  emulated::State* state = nullptr;
  void (*body)(void* argument) = nullptr;
  void* argument = nullptr;
  emulated::Index grid{1, 1, 1}, block{1, 1, 1};
  int cluster = 1;  // blocks along x that run together
  std::size_t shared_bytes = 0;
  unsigned char* shared = nullptr;  // its address, for launches without clusters; null: anywhere
  unsigned order = 0;  // draws the order of the threads
  bool uneven = false;
  MemoryCheck* check = nullptr;  // also: threads that have ended do not count as waiting, and all of a block wait at one line
};

/// Why a launch was stopped.
struct Stopped {
  std::string what;  // "thread (3, 0, 0) of block (0, 0, 0) …"; empty: it was not
  const char* file = nullptr;  // of the kernel's text, if known
  int line = 0;
  const void* from = nullptr;  // or the address of the code
};

/// One at a time in a process.
Stopped run(const Launch& launch);

}  // namespace tegula::emulator
