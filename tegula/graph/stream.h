#pragma once
// Values as text: std::cout << x, for sources that include <iostream>.

#include <iosfwd>

#include "tegula/graph/variable.h"

namespace tegula {

/// "f32".
std::ostream& operator<<(std::ostream& out, DType dtype);
/// "(2, 3)".
std::ostream& operator<<(std::ostream& out, const Shape& shape);
/// Writes x as Tensor::print does: computes the pending value; in a trace it is an error. An empty tensor is "(empty)".
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Variable& x);

}  // namespace tegula
