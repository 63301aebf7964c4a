#include "tegula/tile/reduction.h"

#include <limits>

namespace tegula::tile {

Value identity_of(Builder& builder, Reduction kind, DType dtype) {
  const bool least = kind == Reduction::Max, greatest = kind == Reduction::Min;
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return builder.constant(least ? -infinity : greatest ? infinity : kind == Reduction::Prod ? 1.0 : 0.0, dtype);
  }
  std::int64_t value = kind == Reduction::Prod || kind == Reduction::All ? 1 : 0;
  if (dtype == DType::boolean) {
    value = value != 0 || greatest;
  } else if (least || greatest) {
    using Wide = std::numeric_limits<std::int64_t>;
    using Narrow = std::numeric_limits<std::int32_t>;
    if (dtype == DType::i64) value = least ? Wide::min() : Wide::max();
    else value = least ? Narrow::min() : Narrow::max();
  }
  return builder.constant(value, dtype);
}

Value combine(Reduction kind, Value a, Value b) {
  constexpr Word kWords[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of Reduction
  return binary(kWords[static_cast<int>(kind)], a, b);
}

}  // namespace tegula::tile
