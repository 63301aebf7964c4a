#pragma once
// Programs of a plan's groups by what they are made of: equal layers, and the steps of a loop that is written out, are lowered once.

#include <map>

#include "tegula/compile/plan/group_portion.h"

namespace tegula::compile {

/// A program, and what find_in_place asks of it.
struct KnownProgram {
  tile::Program program;
  Words structure;
  std::map<int, int> last_load, first_store;  // stream -> which of the program's loads and stores
};

/// Of one plan.
using KnownPrograms = std::map<Words, KnownProgram>;

/// What decides the program of a portion of a group, but for the names of its parameters: equal words, equal programs. Empty where its items have checks, which
/// programs tell by the items' numbers.
Words program_key(const Plan& plan, const FusedGroup& group, const LoopNest& nest, Portion portion);

/// The tile programs of one group, appended to the plan's steps. Kernels are compiled later, by compile_kernels.
void lower_group(Plan& plan, int group, KnownPrograms& known, runtime::Device& device);

}  // namespace tegula::compile
