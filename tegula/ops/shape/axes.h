#pragma once
// The names of axes in ops.

#include <string_view>

#include "tegula/core/line.h"
#include "tegula/core/shape.h"

namespace tegula {

/// Some axes of a tensor: sum(x, 1), sum(x, {0, -1}), sum(x). Negative ones count from the end; none at all means every axis.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : list_{axis} {}
  Axes(std::initializer_list<std::int64_t> axes) : list_(axes) {}
  Axes(const Dims& axes) : list_(axes) {}
  const Dims& list() const { return list_; }

 private:
  Dims list_;
};

/// Keep the reduced axes in the result, with size 1.
enum class Keep : bool { No, Yes };

namespace ops {

/// `axis` in [0, rank). Throws Error in the name of `op` when it is outside [-rank, rank).
int axis_of(std::string_view op, std::int64_t axis, const Shape& shape, const Line& where);

/// The axes in [0, rank), ascending; all of them for an empty list. Throws Error when one is outside or named twice.
Dims axes_of(std::string_view op, const Axes& axes, const Shape& shape, const Line& where);

/// Throws Error: `op` got `got`, expected `expected`.
[[noreturn]] void refuse(std::string_view op, std::string got, std::string expected, const Line& where, std::string advice = "");

}  // namespace ops
}  // namespace tegula
