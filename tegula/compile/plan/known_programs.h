#pragma once
// A plan's programs by the structure of their groups: equal layers, and the steps of an unrolled loop, are lowered once.

#include <map>

#include "tegula/compile/plan/group_portion.h"

namespace tegula::compile {

/// A program, and the data that find_in_place needs of it.
struct KnownProgram {
  CopyOnEdit<tile::Program> program;
  CopyOnEdit<Words> structure;
  std::map<int, int> last_load, first_store;  // stream -> which of the program's loads and stores
};

/// The programs of one plan.
using KnownPrograms = std::map<Words, KnownProgram>;

/// The key of a portion's program: equal keys mean equal programs. Empty if an item has checks, because
/// programs identify checks by the items' numbers.
Words program_key(const GroupPortion& portion);

/// Throws Error where two programs of equal keys differ.
void check_equal(const tile::Program& known, const tile::Program& program);

/// The tile programs of one group, appended to the plan's steps. Kernels are compiled later, by compile_kernels.
void lower_group(Plan& plan, int group, KnownPrograms& known, runtime::Device& device);

}  // namespace tegula::compile
