#pragma once
// Integers of 4 bits as they are stored: two in a byte, the first in its lower half (ONNX, torchao). Tensors are computed in wider types.

#include "tegula/graph/tensor.h"

namespace tegula {

enum class Int4 : std::uint8_t { Signed, Unsigned };  // -8 to 7, or 0 to 15

/// x (…, n) integers, n even -> u8 (…, n / 2); of each number the lower 4 bits are kept. No gradients. Throws Error for an odd n, and for floats.
Tensor pack_int4(Arg x);
/// u8 (…, n) -> (…, 2n) of `dtype`.
Tensor unpack_int4(Arg bytes, Int4 kind, DType dtype = i8);

struct OpCase;
/// For the tests (case.h).
std::vector<OpCase> int4_cases();

}  // namespace tegula
