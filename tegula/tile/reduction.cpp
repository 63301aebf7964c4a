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
    value = visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_integral_v<T>) return std::int64_t{0};  // floats are done
      else return static_cast<std::int64_t>(least ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
    });
  }
  return builder.constant(value, dtype);
}

Value combine(Reduction kind, Value a, Value b) {
  constexpr Word kWords[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of Reduction
  return binary(kWords[static_cast<int>(kind)], a, b);
}

}  // namespace tegula::tile
