#pragma once
// The typing rules of the words, said once: the builder asks them while tracing, the verifier for a finished program.

#include <string>

#include "tegula/tile/ir.h"

namespace tegula::tile {

inline constexpr int kMaxTileRank = 5;

/// f64, f32, i64, i32, u64, u32 or boolean: what values that are not pointers consist of.
constexpr bool is_compute_type(DType dtype) { return compute_type(dtype) == dtype; }
inline constexpr const char* kComputeTypes = "f64, f32, i64, i32, u64, u32 or bool";

/// The expectation that one instruction's operands, attributes or type violate; empty if there is none.
/// Operand ids must be valid. For, If, Result and RegionParameter are not judged here: they need the regions around them.
std::string complaint(const Program& program, const Instruction& instruction);

}  // namespace tegula::tile
