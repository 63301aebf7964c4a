#pragma once
// Integers of 4 bits as they are stored: two in a byte, the first in its lower half (ONNX, torchao). Tensors are computed in wider types.

#include "tegula/graph/tensor.h"

namespace tegula {

enum class Int4 : std::uint8_t { Signed, Unsigned };  // -8 to 7, or 0 to 15

/// x (…, n) integers, n even -> u8 (…, n / 2); of each number the lower 4 bits are kept, as ONNX's Cast of integers does. No gradients. Throws Error for an odd n, and
/// for floats.
Tensor pack_int4(Arg x);
/// The same of floats and integers, each of which becomes the nearest number of the kind: halves go to the even one, what lies beyond the ends to the ends, NaN to 0
/// (ONNX's QuantizeLinear).
Tensor pack_int4(Arg x, Int4 kind);
/// u8 (…, n) -> (…, 2n) of `dtype`: the cast from 4 bits.
Tensor unpack_int4(Arg bytes, Int4 kind, DType dtype = i8);

struct QuantizedInt4 {
  Tensor bytes;  // u8 (…, n / 2)
  Tensor scale;  // (…, n / block), of x's dtype
  Tensor zero_point;  // u8 of the same shape, of Int4::Unsigned; else undefined
};
struct Int4Options {
  std::int64_t block = 0;  // how many numbers of a row have a scale; 0: all of it
  Int4 kind = Int4::Signed;
};
/// x (…, n) floats in 4 bits, n even: Signed stands for code * scale with scale = max |x| / 7 of the block, Unsigned for (code - zero_point) * scale with the range from
/// min(x, 0) to max(x, 0). A block of zeros has the scale 1. No gradients. Throws Error for an odd n, a block that does not divide it, and integers.
QuantizedInt4 quantize_int4(Arg x, const Int4Options& options = {});
/// The numbers (…, n) that the codes stand for, in the scale's dtype; gradients to the scale. ONNX's DequantizeLinear with blocks. Throws Error where shapes do not fit.
Tensor dequantize_int4(const QuantizedInt4& x, Line where = Line::current());

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> int4_cases();

}  // namespace tegula
