// Reductions over axes.

#include <limits>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

enum class Kind : std::uint8_t { Sum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare };

/// The greatest or smallest element; of none the value that every other one replaces.
Tensor extreme(const Tensor& x, const Dims& axes, Keep keep, bool greatest) {
  bool is_empty = false;
  for (const std::int64_t axis : axes) is_empty = is_empty || x.size(static_cast<int>(axis)) == 0;
  if (x.dtype() == boolean) return greatest ? any(x, axes, keep) : all(x, axes, keep);
  if (!is_empty) return greatest ? max(x, axes, keep) : min(x, axes, keep);
  const Shape shape = sum(x, axes, keep).shape();
  if (is_float(x.dtype()))
    return full(shape, greatest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(), x.dtype());
  return visit(x.dtype(), [&](auto zero) -> Tensor {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      return full(shape, greatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max(), x.dtype());
    else return Tensor();
  });
}

Tensor reduced(const Tensor& x, Kind kind, const Dims& axes, Keep keep) {
  const DType wide = is_float(x.dtype()) ? x.dtype() : f64;
  switch (kind) {
    case Kind::Sum: return sum(x, axes, keep);
    case Kind::Mean: return mean(cast(x, wide), axes, keep);
    case Kind::Max: return extreme(x, axes, keep, true);
    case Kind::Min: return extreme(x, axes, keep, false);
    case Kind::Prod: return prod(x, axes, keep);
    case Kind::L1: return sum(abs(x), axes, keep);
    case Kind::L2: return sqrt(sum(square(cast(x, wide)), axes, keep));
    case Kind::LogSum: return log(sum(cast(x, wide), axes, keep));
    case Kind::LogSumExp: return logsumexp(cast(x, wide), axes, keep);
    default: return sum(square(x), axes, keep);
  }
}

Results over_axes(const Call& call, Kind kind) {
  const Tensor x = call[0];
  const auto given = call.axes("axes", 1);
  Dims axes;
  if (given)
    for (const std::int64_t axis : *given) axes.push_back(call.axis(axis, x.rank()));
  if (axes.empty()) {
    if (call.flag("noop_with_empty_axes")) return x;
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  const Keep keep = call.flag("keepdims", true) ? Keep::Yes : Keep::No;
  if (axes.empty()) return cast(reduced(reshape(x, {1}), kind, {0}, Keep::No), x.dtype());
  return cast(reduced(x, kind, axes, keep), x.dtype());
}

constexpr std::string_view kAttributes = "axes keepdims noop_with_empty_axes";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"ReduceSum", [](Call& c) -> Results { return over_axes(c, Kind::Sum); }, kAttributes, looked({1})},
    {"ReduceMean", [](Call& c) -> Results { return over_axes(c, Kind::Mean); }, kAttributes, looked({1})},
    {"ReduceMax", [](Call& c) -> Results { return over_axes(c, Kind::Max); }, kAttributes, looked({1})},
    {"ReduceMin", [](Call& c) -> Results { return over_axes(c, Kind::Min); }, kAttributes, looked({1})},
    {"ReduceProd", [](Call& c) -> Results { return over_axes(c, Kind::Prod); }, kAttributes, looked({1})},
    {"ReduceL1", [](Call& c) -> Results { return over_axes(c, Kind::L1); }, kAttributes, looked({1})},
    {"ReduceL2", [](Call& c) -> Results { return over_axes(c, Kind::L2); }, kAttributes, looked({1})},
    {"ReduceLogSum", [](Call& c) -> Results { return over_axes(c, Kind::LogSum); }, kAttributes, looked({1})},
    {"ReduceLogSumExp", [](Call& c) -> Results { return over_axes(c, Kind::LogSumExp); }, kAttributes, looked({1})},
    {"ReduceSumSquare", [](Call& c) -> Results { return over_axes(c, Kind::SumSquare); }, kAttributes, looked({1})},
};
// clang-format on

}  // namespace

Operators reduction_operators() { return kOperators; }

}  // namespace tegula::onnx
