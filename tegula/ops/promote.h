#pragma once
// The dtype and the shape that several operands have in common.

#include <span>
#include <string_view>

#include "tegula/graph/tensor.h"

namespace tegula {

/// PyTorch's rule: among tensors with dimensions, rank-0 tensors and plain numbers each group decides only when it brings a higher category
/// (bool < integer < float) than the groups before it. For example, f16 tensor + 2.5 is f16, i32 tensor + 2.5 is f32, i32 tensor + rank-0 f64 is f64.
/// Throws Error in the name of `op` when an operand is an empty tensor.
DType result_type(std::string_view op, std::span<const Arg> operands);
inline DType result_type(std::string_view op, std::initializer_list<Arg> operands) {
  return result_type(op, std::span(operands.begin(), operands.size()));
}

/// NumPy's broadcast of several shapes. Throws Error in the name of `op`, with all the shapes.
Shape common_shape(std::string_view op, std::span<const Tensor> operands, const Line& where);

/// The dtype of sums and products of many elements: i64 for integers and booleans, as in PyTorch; u64 for u64, as in NumPy, because i64 cannot hold its numbers.
constexpr DType as_sum(DType dtype) { return is_float(dtype) || dtype == DType::u64 ? dtype : DType::i64; }

/// f32 for integers and booleans: what functions of real numbers compute in.
constexpr DType as_float(DType dtype) { return is_float(dtype) ? dtype : DType::f32; }

}  // namespace tegula
