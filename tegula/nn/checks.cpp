#include "tegula/nn/checks.h"

#include <string>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"

namespace tegula::nn {

void require_positive(std::string_view layer, std::initializer_list<std::pair<std::string_view, std::int64_t>> sizes, const Line& where) {
  for (auto [name, size] : sizes) {
    if (size > 0) continue;
    throw Error({.op = std::string(layer),
                 .got = std::string(name) + " = " + std::to_string(size),
                 .expected = "a positive number",
                 .where = origin_at(where).where});
  }
}

void require_features(std::string_view layer, const Tensor& x, int axis, std::int64_t expected, std::string_view meaning,
                      const Line& where) {
  const Shape& shape = x.shape(where);
  const int at = axis < 0 ? axis + shape.rank() : axis;
  if (at >= 0 && at < shape.rank() && shape[at] == expected) return;
  throw Error({.op = std::string(layer),
               .got = "an input of shape " + to_string(shape),
               .expected = std::to_string(expected) + " " + std::string(meaning) + " in axis " + std::to_string(axis),
               .where = origin_at(where).where});
}

void require_dtype(std::string_view layer, const Tensor& x, DType weight, const Line& where) {
  const DType dtype = x.dtype(where);
  if (is_float(dtype) && (dtype != DType::f64 || weight == DType::f64)) return;
  const std::string wanted(name(weight));
  throw Error({.op = std::string(layer),
               .got = "an input of dtype " + std::string(name(dtype)),
               .expected = wanted + ", the dtype of its weight",
               .advice = "cast(x, " + wanted + ")",
               .where = origin_at(where).where});
}

}  // namespace tegula::nn
