#include "tegula/ops/creation.h"

#include <cmath>

#include "tegula/core/rounded.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {
namespace {

void check_shape(std::string_view op, const Shape& shape, const Line& where) {
  for (const auto size : shape) {
    if (size < 0) ops::refuse(op, "shape " + to_string(shape), "sizes of at least 0", where);
  }
  if (!countable(shape))
    ops::refuse(op, "shape " + to_string(shape), "fewer than 2^60 elements", where, "it was probably computed from wrong numbers");
}

/// i64: 0, 1, …
Tensor counter(std::int64_t count, const Line& where) { return graph::index(Layout::dense({count}), where); }

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, Line where) {
  check_shape("zeros", shape, where);
  return graph::full(shape, 0, dtype, where);
}

Tensor ones(const Shape& shape, DType dtype, Line where) {
  check_shape("ones", shape, where);
  return graph::full(shape, 1, dtype, where);
}

Tensor full(const Shape& shape, Arg value, std::optional<DType> dtype) {
  check_shape("full", shape, value.loc);
  const Tensor given = dtype ? value.tensor("full", *dtype) : value.tensor("full");
  const Tensor number = value.is_number() ? graph::scalar(rounded(value.value(), given.dtype()), given.dtype(), value.loc) : given;
  if (number.rank() != 0) ops::refuse("full", "a value of shape " + to_string(number.shape()), "a number or a tensor of rank 0", value.loc);
  return graph::expand(number, shape, value.loc);
}

Tensor zeros_like(Arg x, std::optional<DType> dtype) {
  const Tensor like = x.tensor("zeros_like");
  return graph::full(like.shape(), 0, dtype.value_or(like.dtype()), x.loc);
}

Tensor ones_like(Arg x, std::optional<DType> dtype) {
  const Tensor like = x.tensor("ones_like");
  return graph::full(like.shape(), 1, dtype.value_or(like.dtype()), x.loc);
}

Tensor full_like(Arg x, Arg value, std::optional<DType> dtype) {
  const In frame("full_like", x.loc);
  const Tensor like = x.tensor("full_like");
  return full(like.shape(), value, dtype.value_or(like.dtype()));
}

Tensor ops::arange(double begin, double end, double step, DType dtype, const Line& where) {
  const In frame("arange", where);
  const double length = std::ceil((end - begin) / step);
  if (!(length >= 0) || !std::isfinite(length) || length > 9e15) {
    refuse("arange", "begin " + number_text(begin) + ", end " + number_text(end) + ", step " + number_text(step),
           "a step that leads from begin to end", where);
  }
  const auto count = static_cast<std::int64_t>(length);
  const auto whole = [](double number) { return number == std::trunc(number) && std::fabs(number) <= 0x1p53; };
  if (whole(begin) && whole(step) && std::fabs(end) <= 0x1p53) {
    const Layout pattern{{count}, {static_cast<std::int64_t>(step)}, static_cast<std::int64_t>(begin)};
    return graph::cast(graph::index(pattern, where), dtype, where);
  }
  const DType fine = dtype == f64 || is_integer(dtype) ? f64 : f32;
  const Tensor at = graph::cast(counter(count, where), fine, where);
  return graph::cast(at * step + begin, dtype, where);
}

Tensor ops::arange_whole(std::int64_t begin, std::int64_t end, std::int64_t step, DType dtype, const Line& where) {
  const In frame("arange", where);
  const auto magnitude = [](std::int64_t n) { return n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); };
  const bool leads = step > 0 ? begin <= end : step < 0 && begin >= end;
  const std::uint64_t distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)
                                          : static_cast<std::uint64_t>(begin) - static_cast<std::uint64_t>(end);
  const std::uint64_t count = leads && distance > 0 ? (distance - 1) / magnitude(step) + 1 : 0;
  if (!leads || count > (std::uint64_t{1} << 60)) {
    refuse("arange", "begin " + std::to_string(begin) + ", end " + std::to_string(end) + ", step " + std::to_string(step),
           "a step that leads from begin to end", where);
  }
  return graph::cast(graph::index({{static_cast<std::int64_t>(count)}, {step}, begin}, where), dtype, where);
}

Tensor linspace(double begin, double end, std::int64_t count, DType dtype, Line where) {
  const In frame("linspace", where);
  if (count < 0) ops::refuse("linspace", "count " + std::to_string(count), "at least 0", where);
  if (!is_float(dtype)) ops::refuse("linspace", "dtype " + std::string(name(dtype)), "a float type", where);
  // From both ends, so that both are exact.
  const double step = count > 1 ? (end - begin) / static_cast<double>(count - 1) : 0.0;
  const Tensor i = counter(count, where);
  const DType fine = dtype == f64 ? f64 : f32;
  const Tensor up = graph::cast(i, fine, where) * step + begin;
  const Tensor down = end - graph::cast((count - 1) - i, fine, where) * step;
  return graph::cast(count > 1 ? tegula::where(i < count / 2, up, down) : up, dtype, where);
}

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype, Line where) {
  const In frame("eye", where);
  const Shape shape{rows, columns.value_or(rows)};
  check_shape("eye", shape, where);
  return graph::cast(graph::index({shape, {1, -1}, 0}, where) == 0, dtype, where);
}

Tensor iota(const Shape& shape, int axis, Line where) {
  check_shape("iota", shape, where);
  Layout pattern{shape, Dims::filled(shape.rank(), 0), 0};
  pattern.strides[ops::axis_of("iota", axis, shape, where)] = 1;
  return graph::index(pattern, where);
}

std::vector<OpCase> creation_cases() {
  using Values = std::vector<double>;
  std::vector<OpCase> cases;
  // The input only gives the shape and dtype. `element`: the value at index (i, j) of a matrix, (0, j) of a vector.
  const auto add = [&](const std::string& op, const std::vector<DType>& dtypes, const Shape& result, Tensor (*make)(const Tensor& like),
                       double (*element)(double i, double j)) {
    cases.push_back({.op = op,
                     .function = [=](const auto& x) { return make(x[0]); },
                     .inputs = {{.shape = result}},
                     .dtypes = dtypes,
                     .gradient = false});
    cases.back().reference = [=](const std::vector<Values>&) {
      Values out;
      const std::int64_t columns = result.rank() > 0 ? result[result.rank() - 1] : 1;
      for (std::int64_t n = 0; n < numel(result); ++n) {
        const std::int64_t row = n / columns, column = n % columns;
        out.push_back(element(static_cast<double>(row), static_cast<double>(column)));
      }
      return out;
    };
  };
  for (const Shape& shape : {Shape{7, 33}, Shape{1023}, Shape{0, 3}, Shape{}}) {
    add("zeros", kEverything, shape, [](const Tensor& x) { return zeros(x.shape(), x.dtype()); }, [](double, double) { return 0.0; });
    add("ones", kEverything, shape, [](const Tensor& x) { return ones(x.shape(), x.dtype()); }, [](double, double) { return 1.0; });
    add("full", kNumbers, shape, [](const Tensor& x) { return full(x.shape(), 3, x.dtype()); }, [](double, double) { return 3.0; });
    add("zeros_like", kEverything, shape, [](const Tensor& x) { return zeros_like(x); }, [](double, double) { return 0.0; });
    add("ones_like", kEverything, shape, [](const Tensor& x) { return ones_like(x); }, [](double, double) { return 1.0; });
    add("full_like", kNumbers, shape, [](const Tensor& x) { return full_like(x, 3); }, [](double, double) { return 3.0; });
  }
  add("arange", kNumbers, {14}, [](const Tensor& x) { return arange(3, 100, 7, x.dtype()); }, [](double, double j) { return 3 + 7 * j; });
  add(
      "arange", kFloats, {34}, [](const Tensor& x) { return arange(9.0, 0.5, -0.25, x.dtype()); },
      [](double, double j) { return 9 - 0.25 * j; });
  add(
      "linspace", kFloats, {33}, [](const Tensor& x) { return linspace(-2, 6, 33, x.dtype()); },
      [](double, double j) { return -2 + 0.25 * j; });
  add(
      "eye", kEverything, {7, 33}, [](const Tensor& x) { return eye(7, 33, x.dtype()); },
      [](double i, double j) { return i == j ? 1.0 : 0.0; });
  add("iota", {i64}, {7, 33}, [](const Tensor& x) { return iota(x.shape(), 1); }, [](double, double j) { return j; });
  return cases;
}

}  // namespace tegula
