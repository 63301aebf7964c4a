#pragma once
// Tensors from nothing: constants, ranges, the identity. None of them takes memory until something needs the elements side by side.

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

Tensor zeros(const Shape& shape, DType dtype = f32, Line where = Line::current());
Tensor ones(const Shape& shape, DType dtype = f32, Line where = Line::current());
/// `value`, a number or a tensor of rank 0, in every element. Without a dtype: f32 for a floating-point number, i64 for an integer,
/// bool for a bool, as in PyTorch.
Tensor full(const Shape& shape, Arg value, std::optional<DType> dtype = std::nullopt);

/// Tensors with x's shape and, unless another is given, its dtype. No gradient flows to x.
Tensor zeros_like(Arg x, std::optional<DType> dtype = std::nullopt);
Tensor ones_like(Arg x, std::optional<DType> dtype = std::nullopt);
Tensor full_like(Arg x, Arg value, std::optional<DType> dtype = std::nullopt);

namespace ops {
Tensor arange(double begin, double end, double step, DType dtype, const Line& where);
/// In whole numbers: exact.
Tensor arange_whole(std::int64_t begin, std::int64_t end, std::int64_t step, DType dtype, const Line& where);
}  // namespace ops

/// (ceil((end - begin) / step)): begin, begin + step, …, without end. i64 when all three are integers, else f32, unless a dtype is given.
/// Throws when step is 0 or leads away from end.
template <class Begin, class End, class Step = int>
requires std::is_arithmetic_v<Begin> && std::is_arithmetic_v<End> && std::is_arithmetic_v<Step>
Tensor arange(Begin begin, End end, Step step = 1, std::optional<DType> dtype = std::nullopt, Line where = Line::current()) {
  constexpr bool integers = std::is_integral_v<Begin> && std::is_integral_v<End> && std::is_integral_v<Step>;
  if constexpr (integers) {
    if (Number(begin).fits_i64() && Number(end).fits_i64() && Number(step).fits_i64())
      return ops::arange_whole(Number(begin).integer(), Number(end).integer(), Number(step).integer(), dtype.value_or(i64), where);
  }
  return ops::arange(static_cast<double>(begin), static_cast<double>(end), static_cast<double>(step), dtype.value_or(integers ? i64 : f32),
                     where);
}
/// (end): 0, 1, …, end - 1.
template <class End>
requires std::is_arithmetic_v<End>
Tensor arange(End end, Line where = Line::current()) {
  return arange(End{0}, end, 1, std::nullopt, where);
}

/// (count): evenly spaced from begin to end, both exact. dtype must be a float type.
Tensor linspace(double begin, double end, std::int64_t count, DType dtype = f32, Line where = Line::current());

/// (rows, columns), by default square: 1 where both indices are equal.
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt, DType dtype = f32, Line where = Line::current());

/// i64 of this shape: the index of each element along `axis`.
Tensor iota(const Shape& shape, int axis, Line where = Line::current());

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> creation_cases();

}  // namespace tegula
