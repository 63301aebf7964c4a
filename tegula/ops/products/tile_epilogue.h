#pragma once
// Applies a call's epilogue (runtime/expression.h) to a tile of sums, in the tile language.

#include <bit>
#include <cstdint>
#include <vector>

#include "tegula/runtime/expression.h"
#include "tegula/tile/language/words.h"

namespace tegula::ops {

/// The expression as an attribute.
inline std::vector<std::int64_t> numbers_of(const runtime::Expression& epilogue) {
  std::vector<std::int64_t> numbers;
  for (const runtime::Expression::Value& one : epilogue.values) {
    numbers.insert(numbers.end(),
                   {static_cast<std::int64_t>(one.source), static_cast<std::int64_t>(one.word), std::bit_cast<std::int64_t>(one.constant)});
    numbers.insert(numbers.end(), one.operands.begin(), one.operands.end());
  }
  return numbers;
}

/// `read(source)` gives the tile of the next value that is read: of a channel one that broadcasts along the sums' rows, of a tensor one of their shape, of a number
/// a scalar. The result has the shape of the sums.
template <class Read>
tile::Tile made_of(const runtime::Expression& epilogue, const tile::Tile& sums, Read&& read) {
  using Source = runtime::Expression::Source;
  if (epilogue.is_empty()) return sums;
  std::vector<tile::Tile> values;
  for (const runtime::Expression::Value& one : epilogue.values) {
    const auto operand = [&](std::size_t i) { return values[static_cast<std::size_t>(one.operands[i])]; };
    if (one.source == Source::Result) values.push_back(sums);
    else if (one.source == Source::Constant)
      values.push_back(tile::full_of(Shape(Dims::filled(sums.shape().rank(), 1)), one.constant, sums.dtype()));
    else if (one.source != Source::Word) values.push_back(read(one.source));
    else if (one.word == tile::Word::Select) values.push_back(where(operand(0), operand(1), operand(2)));
    else if (one.word == tile::Word::Fma) values.push_back(fma(operand(0), operand(1), operand(2)));
    else if (one.operands[1] < 0) values.push_back(tile::language::said(tile::language::one(one.word, operand(0)), {}));
    else values.push_back(tile::language::said(tile::language::two(one.word, operand(0), operand(1)), {}));
  }
  return broadcast_to(values.back(), sums.shape());
}

}  // namespace tegula::ops
