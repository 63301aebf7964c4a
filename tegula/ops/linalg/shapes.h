#pragma once
// Shapes and dtypes of matrices, checked. Internal to ops/.

#include <string_view>
#include <utility>

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// The argument (…, m, n) of a float dtype, as f64 or f32 to compute in.
struct Matrix {
  Tensor x;
  DType given = DType::f32;  // what the result is cast to
  std::int64_t rows = 0, columns = 0;
  Tensor back(const Tensor& result) const;
};
enum class Extents2 : std::uint8_t { Any, Square };
Matrix matrix_of(std::string_view op, const Arg& a, Extents2 extents = Extents2::Any);

/// a (…, n, n) and b (…, n, m), of one dtype and equal axes in front.
struct System {
  Tensor a, b;
  bool vectors = false;  // b had one axis fewer
  DType given = DType::f32;
  Tensor back(const Tensor& result) const;
};
System system_of(std::string_view op, const Arg& a, const Arg& b, Extents2 extents = Extents2::Square);

/// x, available once this has been checked: an Error in the name of `op` for the first matrix of the batch that is wrong, "`complaint`, number 3 of the batch". wrong
/// (batch…) boolean.
Tensor checked(std::string_view op, const Tensor& x, const Tensor& wrong, std::string_view complaint, std::string_view advice,
               const Line& where);
/// x, if no state (batch…, i32) says that a routine came to no end.
Tensor ended(std::string_view op, const Tensor& x, const Tensor& state, const Line& where);

}  // namespace tegula::ops
