#pragma once
// What every device demands of the descriptions of calls it is asked for. Each throws Error that names the call and what is wrong.

#include <initializer_list>

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// Float types; equal ranks of at least 2; (M, K), (K, N) and (M, N), with batch axes of C's size or 1.
void check(const Matmul& description);
/// Operands of one float type; one to three spatial axes; (N, C, …), (K, C/groups, …) and (N, K, …), with the output as large as window, stride,
/// dilation and padding make it; an activation is relu.
void check(const Convolution& description);
/// Operands of one float type; one to three spatial axes; equal (N, C); windows, strides and dilations of at least 1.
void check(const Pooling& description);
/// Whether the operands are numbers as they are, of one dtype.
bool have_one_dtype(std::initializer_list<const Operand*> operands);

}  // namespace tegula::runtime
