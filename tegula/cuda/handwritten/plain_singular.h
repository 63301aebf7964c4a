#pragma once
// What a refined SVD needs beside products: its values, and everything by descending values.

#include "tegula/cuda/handwritten/plain_kernels.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::gpu {

/// (u, p = a · v) -> values: the diagonal of uᵀp; u and p lie by columns.
PlainKernel singular_values_kernel(const runtime::MatrixRoutine& description);

/// (values, u by columns, v by rows) -> the same three with |values| descending and columns of u and v in their order. A negative value turns its column
/// of u. Every column is stored, also where values are NaN.
PlainKernel singular_order_kernel(const runtime::MatrixRoutine& description);

}  // namespace tegula::gpu
