// argmax and argmin: a kernel over lines, which are moved to the last axis.

#include <cmath>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using tile::Reduction;
using tile::Value;

class ArgReduceOp final : public KernelOp {
 public:
  explicit ArgReduceOp(Reduction kind) : kind_(kind) {}
  std::string_view name() const override { return kind_ == Reduction::Max ? "argmax" : "argmin"; }
  void attributes(Attributes& a) const override { a.told_by_name(kind_); }

  void lower(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape;
    const std::int64_t columns = shape.back(), rows = columns == 0 ? 0 : numel(shape) / columns;
    ops::RowKernel kernel(context, std::string(name()), rows, columns, ops::Columns::Looped);
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), y = kernel.output(), width = kernel.number(columns);
    // Booleans are compared as numbers.
    const DType compute = context.input(0).dtype == boolean ? i32 : tile::compute_type(context.input(0).dtype);
    const Shape column{kernel.tile_rows(), 1};
    const Value nothing = tile::identity_of(b, kind_, compute);
    const Value before = b.constant(std::int64_t{-1}, i64);
    const auto found = kernel.for_each_tile(
        {tile::broadcast(nothing, column), tile::broadcast(before, column)}, [&](std::span<const Value> best) -> std::vector<Value> {
          Value values = b.load(x + (kernel.row() * width + kernel.column()), kernel.mask());
          if (values.dtype() != compute) values = tile::cast(values, compute);
          if (!kernel.column_mask().is_empty()) values = tile::select(kernel.column_mask(), values, nothing);
          values = tile::broadcast(values, {kernel.tile_rows(), kernel.tile_columns()});
          const Value extreme = tile::reduce(values, 1, kind_);
          const Value place = tile::arg_reduce(values, 1, kind_) + kernel.first_column();
          Value better = kind_ == Reduction::Max ? extreme > best[0] : extreme < best[0];
          if (is_float(compute)) {
            const Value nan = tile::unary(tile::Word::IsNan, extreme), had_nan = tile::unary(tile::Word::IsNan, best[0]);
            better = better || (nan && !had_nan);
          }
          better = better || best[1] < 0;  // the first tile
          return {tile::select(better, extreme, best[0]), tile::select(better, place, best[1])};
        });
    b.store(y + kernel.row(), found[1], kernel.row_mask());
    kernel.launch();
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const auto columns = static_cast<std::size_t>(shapes[0].back());
    for (std::size_t r = 0; r < y.size(); ++r) {
      const double* line = x[0].data() + r * columns;
      std::size_t best = 0;
      for (std::size_t i = 1; i < columns && !std::isnan(line[best]); ++i) {
        if (std::isnan(line[i]) || (kind_ == Reduction::Max ? line[i] > line[best] : line[i] < line[best])) best = i;
      }
      y[r] = static_cast<double>(best);
    }
  }

 private:
  Reduction kind_;
};

Tensor arg_reduce(std::string_view op, const Arg& arg, std::optional<int> axis, Keep keep, Reduction kind) {
  const In frame(op, arg.loc);
  const Tensor x = arg.tensor(op);
  Tensor lines = axis && x.rank() > 0 ? movedim(x, *axis, -1) : graph::reshape(x, {x.numel()}, arg.loc);
  if (axis && x.rank() == 0) ops::axes_of(op, *axis, x.shape(), arg.loc);
  if (lines.shape().back() == 0) ops::refuse(op, "shape " + to_string(x.shape()), "at least one element along the axis", arg.loc);
  Shape shape = lines.shape();
  shape.erase(shape.rank() - 1);
  Tensor y = make_node(Ref<const Op>(new ArgReduceOp(kind)), {lines}, shape, i64, arg.loc);
  if (keep == Keep::No) return y;
  Shape kept = x.shape();
  for (int i = 0; i < kept.rank(); ++i) {
    if (!axis || i == *normalize_axis(*axis, kept.rank())) kept[i] = 1;
  }
  return graph::reshape(y, kept, arg.loc);
}

}  // namespace

Tensor argmax(Arg x, std::optional<int> axis, Keep keep) { return arg_reduce("argmax", x, axis, keep, Reduction::Max); }
Tensor argmin(Arg x, std::optional<int> axis, Keep keep) { return arg_reduce("argmin", x, axis, keep, Reduction::Min); }

}  // namespace tegula
