#pragma once
// Compares two tensors up to rounding.

#include <optional>
#include <string>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Not given: by the dtype of the two that has fewer digits, as PyTorch's assert_close. rtol, atol: f64 1e-7, 1e-7; f32 1.3e-6, 1e-5; f16 1e-3, 1e-5; bf16 1.6e-2,
/// 1e-5; integers and bool 0, 0.
struct CloseOptions {
  std::optional<double> rtol = {}, atol = {};
  bool equal_nan = false;  // NaN is close to NaN
  std::string message = {};  // name of the compared tensor, for the Error
};

/// Throws Error where |got - expected| > atol + rtol · |expected| for some element, or the shapes differ, or one of the two is NaN or infinite and the other one
/// is not the same: how many elements differ, which one most, and where. Dtypes may differ. Computes both.
void assert_close(const Tensor& got, const Tensor& expected, const CloseOptions& options = {}, Line where = Line::current());

}  // namespace tegula
