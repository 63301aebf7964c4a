#pragma once
// Booleans, bits, choice and conversion.

#include "tegula/graph/tensor.h"

namespace tegula {

/// Operands of any dtype; a nonzero value counts as true (NaN too). Boolean results. Both operands are always computed.
Tensor operator&&(Arg a, Arg b);
Tensor operator||(Arg a, Arg b);
Tensor operator!(Arg x);
Tensor logical_and(Arg a, Arg b);
Tensor logical_or(Arg a, Arg b);
Tensor logical_xor(Arg a, Arg b);
Tensor logical_not(Arg x);

/// Bits of integers, or booleans. Shifts take integers only; the right shift keeps the sign; amounts lie in [0, width).
Tensor operator&(Arg a, Arg b);
Tensor operator|(Arg a, Arg b);
Tensor operator^(Arg a, Arg b);
Tensor operator~(Arg x);
Tensor operator<<(Arg a, Arg amount);
Tensor operator>>(Arg a, Arg amount);
Tensor bitwise_and(Arg a, Arg b);
Tensor bitwise_or(Arg a, Arg b);
Tensor bitwise_xor(Arg a, Arg b);
Tensor bitwise_not(Arg x);
Tensor left_shift(Arg a, Arg amount);
Tensor right_shift(Arg a, Arg amount);

/// a where the condition (boolean, or not 0) holds, b elsewhere. Elements that are not chosen get no gradient, whatever they hold.
Tensor where(Arg condition, Arg a, Arg b);

/// x in another dtype: floats are rounded to the nearest, floats to integers truncate toward zero, integers wrap, anything to boolean is x != 0.
Tensor cast(Arg x, DType dtype);

}  // namespace tegula
