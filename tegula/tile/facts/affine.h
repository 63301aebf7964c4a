#pragma once
// Rules for numbers that are affine in the coordinates of a tile: base + Σ stride[axis] * coordinate. Both machines derive by these: code for a GPU is
// written from terms (facts.h), the CPU's executor computes with slots. A form has `base` and `stride`, of any number type; a calculus says how its numbers are
// computed:
//   number(i64), add(a, b), multiply(a, b), known(a) -> std::optional<i64>
//   limit(a, b)       a - b as a limit of a coordinate: at the ends of i64 it must not come round
//   add_limit(a, b)   a limit and a small number
//   quotient(a, step) the greatest number whose product with step (2 or more) is at most a; std::nullopt where limits are not divided

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// a + sign * b, of the strides that both have.
template <class Form, class Calculus>
void add_affine(Form& a, const Form& b, std::int64_t sign, Calculus&& calculus) {
  const auto factor = calculus.number(sign);
  a.base = calculus.add(a.base, calculus.multiply(factor, b.base));
  for (std::size_t i = 0; i < std::min(a.stride.size(), b.stride.size()); ++i)
    a.stride[i] = calculus.add(a.stride[i], calculus.multiply(factor, b.stride[i]));
}

template <class Form, class Number, class Calculus>
void scale_affine(Form& form, const Number& factor, Calculus&& calculus) {
  form.base = calculus.multiply(form.base, factor);
  for (auto& stride : form.stride) stride = calculus.multiply(stride, factor);
}

/// What a comparison says of one coordinate: coordinate < limit where `below`, otherwise coordinate >= limit.
template <class Number>
struct Side {
  int axis = 0;
  bool below = false;
  Number limit;
};

/// `a word b` for a word of Lt, Le, Gt, Ge: nothing where the two do not differ by a known stride along one axis, of at most `longest` where that is not 0.
template <class Form, class Calculus>
auto side_of(Word word, const Form& a, const Form& b, int rank, Calculus&& calculus, std::int64_t longest = 0)
    -> std::optional<Side<decltype(Form::base)>> {
  int axis = -1;
  std::int64_t step = 0;
  for (int i = 0; i < rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto stride = [&](const Form& form) {
      return k < form.stride.size() ? calculus.known(form.stride[k]) : std::optional<std::int64_t>(0);
    };
    const auto x = stride(a), y = stride(b);
    if (!x || !y) return std::nullopt;
    if (*x == *y) continue;
    if (axis >= 0) return std::nullopt;
    axis = i;
    step = *x - *y;
  }
  const std::int64_t size = step > 0 ? step : -step;
  if (axis < 0 || (longest > 0 && size > longest)) return std::nullopt;
  // step * coordinate <word> limit; with a negative step both sides are turned around.
  auto limit = step > 0 ? calculus.limit(b.base, a.base) : calculus.limit(a.base, b.base);
  const bool below = (word == Word::Lt || word == Word::Le) == (step > 0), with_equal = word == Word::Le || word == Word::Ge;
  // The first coordinate of which the product with the step is at least the limit, or beyond it.
  const bool at_least = below != with_equal;
  if (size > 1) {
    if (at_least) limit = calculus.add_limit(limit, calculus.number(size - 1));
    const auto quotient = calculus.quotient(limit, size);
    if (!quotient) return std::nullopt;
    limit = *quotient;
  }
  if (!at_least) limit = calculus.add_limit(limit, calculus.number(1));
  return Side<decltype(Form::base)>{axis, below, limit};
}

}  // namespace tegula::tile
