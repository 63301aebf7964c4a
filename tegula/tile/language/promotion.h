#pragma once
// Which type two tiles have in common: Triton's table.

#include <optional>

#include "tegula/core/dtype.h"

namespace tegula::tile::language {

struct OperandType {
  DType dtype = DType::f32;
  bool scalar = false;
};

/// The dtype in which a word of two operands computes. A scalar beside a tile of its kind (bool < integers < floats) or of a higher one takes the
/// tile's dtype. f64 is before f32, that before f16, that before bf16; bf16 beside anything else, and what divides, computes in f32; of two integers the
/// wider one, of one width the unsigned one. Nothing where Triton refuses: floats of 8 bits beside integers; integers of both signs, divided.
/// In one place it is not Triton's: f16 with bf16 is f32, which holds both (Triton: f16).
std::optional<DType> promoted(OperandType a, OperandType b, bool divides);

}  // namespace tegula::tile::language
