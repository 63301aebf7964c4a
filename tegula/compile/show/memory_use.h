#pragma once
// Memory use of a plan while it runs, step by step.

#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

struct MemoryUse {
  struct Held {
    int item = -1;     // -1: scratch memory of a step
    int step = 0;      // that made it
    std::size_t bytes = 0;
  };
  std::size_t leaf_bytes = 0;    // arguments, Variables, captured tensors: there before and afterwards
  std::size_t output_bytes = 0;
  std::vector<std::size_t> between;  // per step: bytes of the arena that hold something
  int peak = -1;                     // the step at which that is most; -1 without steps
  std::vector<Held> held;            // what they hold then, largest first
};

/// A value, or scratch memory, in the arena, from the first step that touches it to the last.
struct Stay {
  MemoryUse::Held held;
  std::size_t offset = 0;
  int first = 0, last = 0;
  std::size_t end() const { return offset + held.bytes; }
};
/// After plan_memory, as the following.
std::vector<Stay> stays_of(const Plan& plan);
MemoryUse memory_use(const Plan& plan);

/// For people: the peak, which values make it up and which ops and lines they come from, and the course over the steps.
std::string memory_table(const Plan& plan);

/// The purpose of the arena in one line: the number of steps, and its largest values.
std::string arena_purpose(const Plan& plan);

}  // namespace tegula::compile
