#include "tegula/compile/reduction_values.h"

#include <limits>

namespace tegula::compile {

using tile::Builder;
using tile::Value;

Value identity_value(Builder& b, tile::Reduction kind, DType dtype) {
  const bool least = kind == tile::Reduction::Max, greatest = kind == tile::Reduction::Min;
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return b.constant(least ? -infinity : greatest ? infinity : kind == tile::Reduction::Prod ? 1.0 : 0.0, dtype);
  }
  std::int64_t value = kind == tile::Reduction::Prod || kind == tile::Reduction::All ? 1 : 0;
  if (least || greatest) {
    using Wide = std::numeric_limits<std::int64_t>;
    using Narrow = std::numeric_limits<std::int32_t>;
    if (dtype == DType::boolean) value = greatest;
    else if (dtype == DType::i64) value = least ? Wide::min() : Wide::max();
    else value = least ? Narrow::min() : Narrow::max();
  }
  return b.constant(value, dtype);
}

Value combine(tile::Reduction kind, Value a, Value b) {
  using tile::Word;
  constexpr Word words[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of tile::Reduction
  return tile::binary(words[static_cast<int>(kind)], a, b);
}

}  // namespace tegula::compile
