#pragma once
// The rules that every device checks in the descriptions of requested calls. Each check throws Error with the call's name and the fault.

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
/// True if the operands are plain numbers (not codes with factors), all of one dtype.
bool have_one_dtype(std::initializer_list<const Operand*> operands);

}  // namespace tegula::runtime
