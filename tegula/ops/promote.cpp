#include "tegula/ops/promote.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"

namespace tegula {
namespace {

enum Category { kBool, kInteger, kFloat };
Category category(DType dtype) { return is_float(dtype) ? kFloat : is_integer(dtype) ? kInteger : kBool; }

using Found = std::optional<DType>;

void join(Found& found, DType dtype) { found = found ? promote(*found, dtype) : dtype; }

/// `low` counts only where it is of a higher category.
Found combine(Found high, Found low) {
  if (!high) return low;
  if (!low || category(*low) <= category(*high)) return high;
  return promote(*high, *low);
}

}  // namespace

DType result_type(std::string_view op, std::span<const Arg> operands) {
  Found dimensioned, scalars, numbers;
  for (const Arg& x : operands) {
    if (x.is_number()) {
      join(numbers, x.category());
    } else {
      const Tensor tensor = x.tensor(op);
      join(tensor.rank() == 0 ? scalars : dimensioned, tensor.dtype());
    }
  }
  return combine(dimensioned, combine(scalars, numbers)).value_or(DType::f32);
}

Shape common_shape(std::string_view op, std::span<const Tensor> operands, const Line& where) {
  Shape shape;
  bool fits = true;
  for (const Tensor& x : operands) {
    const auto common = broadcast(shape, x.shape(where));
    fits = fits && common;
    if (common) shape = *common;
  }
  if (fits) return shape;
  std::string shapes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    shapes += (i == 0 ? "" : i + 1 == operands.size() ? " and " : ", ") + to_string(operands[i].shape());
  }
  throw Error({.op = std::string(op),
               .got = "shapes " + shapes,
               .expected = "shapes that broadcast: sizes equal or 1, counted from the last axis",
               .advice = "reshape one of them so that the axes line up",
               .where = origin_at(where).where});
}

}  // namespace tegula
