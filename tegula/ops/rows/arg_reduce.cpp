// argmax and argmin: a kernel over lines, which are moved to the last axis.

#include <bit>
#include <cmath>

#include "tegula/core/divide.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using tile::Reduction;
using tile::Value;

constexpr std::int64_t kLeastShare = 512;  // columns of a row that an instance looks at, where several share it

class ArgReduceOp final : public KernelOp {
 public:
  explicit ArgReduceOp(Reduction kind) : kind_(kind) {}
  std::string_view name() const override { return kind_ == Reduction::Max ? "argmax" : "argmin"; }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    if (const Signature* node = a.made_for()) {
      Shape rows = node->inputs[0].shape;
      a.require(rows.rank() > 0 && rows.back() > 0, "shape");
      rows.erase(rows.rank() - 1);
      a.require(numel(node->results[0].shape) == numel(rows) && node->results[0].dtype == i64, "shape");
    }
  }

  void lower(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape;
    const std::int64_t columns = shape.back(), rows = columns == 0 ? 0 : numel(shape) / columns;
    // A few long lines: many instances look for the best of a share each, and one for the best of those.
    const std::int64_t tile = context.tile_elements(), wanted = context.instances() / std::max<std::int64_t>(4 * rows, 1);
    if (std::min(columns / std::max<std::int64_t>(2 * tile, 1), wanted) > 1 && !context.ladder().on)
      return lower_shares(context, rows, columns, wanted);
    ops::RowKernel kernel(context, std::string(name()), rows, columns, ops::Columns::Looped);
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), y = kernel.output(), width = kernel.number(columns);
    const DType compute = compute_type(context);
    const Shape column{kernel.tile_rows(), 1};
    const Value before = b.constant(std::int64_t{-1}, i64);
    const auto found = kernel.for_each_tile(
        {tile::broadcast(tile::identity_of(b, kind_, compute), column), tile::broadcast(before, column)}, [&](std::span<const Value> best) {
          const Value values = b.load(x + (kernel.row() * width + kernel.column()), kernel.mask());
          return better_of(b, best, values, kernel.column_mask(), {kernel.tile_rows(), kernel.tile_columns()}, kernel.first_column(),
                           compute);
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
  /// Booleans are compared as numbers.
  static DType compute_type(const KernelContext& context) {
    return context.input(0).dtype == boolean ? i32 : tile::compute_type(context.input(0).dtype);
  }

  /// {extreme, index} (R, 1) of the earlier elements and of a tile (R, C) whose first column is `first`. An index below 0 means none yet.
  std::vector<Value> better_of(tile::Builder& b, std::span<const Value> best, Value values, Value inside, const Shape& shape, Value first,
                               DType compute) const {
    if (values.dtype() != compute) values = tile::cast(values, compute);
    if (!inside.is_empty()) values = tile::select(inside, values, tile::identity_of(b, kind_, compute));
    values = tile::broadcast(values, shape);
    const Value extreme = tile::reduce(values, 1, kind_), place = tile::arg_reduce(values, 1, kind_) + first;
    Value better = kind_ == Reduction::Max ? extreme > best[0] : extreme < best[0];
    if (is_float(compute)) {
      const Value nan = tile::unary(tile::Word::IsNan, extreme), had_nan = tile::unary(tile::Word::IsNan, best[0]);
      better = better || (nan && !had_nan);
    }
    better = better || best[1] < 0;  // the first tile
    return {tile::select(better, extreme, best[0]), tile::select(better, place, best[1])};
  }

  /// About `wanted` instances share a row: each has one tile of it, or several, one after the other.
  void lower_shares(KernelContext& context, std::int64_t rows, std::int64_t columns, std::int64_t wanted) const {
    const auto even = static_cast<std::uint64_t>(std::max(divide_up(columns, wanted), kLeastShare));
    const std::int64_t tile = std::min(context.tile_elements(), static_cast<std::int64_t>(std::bit_ceil(even)));
    const std::int64_t share = divide_up(static_cast<std::int64_t>(even), tile) * tile, shares = divide_up(columns, share);
    const DType compute = compute_type(context);
    const int extremes = context.scratch(rows * shares * static_cast<std::int64_t>(size_of(compute))),
              places = context.scratch(rows * shares * static_cast<std::int64_t>(size_of(i64)));
    {
      ops::KernelLaunch kernel(context, std::string(name()) + "_part");
      tile::Builder& b = kernel.builder();
      const auto number = [&](std::int64_t n) { return b.constant(n, i64); };
      const Value x = kernel.input(0), to_extremes = kernel.scratch(extremes, compute, true), to_places = kernel.scratch(places, i64, true);
      const Value width = kernel.number(columns), row = b.program_id(0), part = b.program_id(1), begin = part * number(share);
      const Value end = tile::select(begin + number(share) < width, begin + number(share), width);
      const Shape one{1, 1};
      const std::vector<Value> nothing{tile::broadcast(tile::identity_of(b, kind_, compute), one), tile::broadcast(number(-1), one)};
      const auto next = [&](Value first, std::span<const Value> best) {
        const Value column = first + tile::row(b.arange(0, tile)), inside = column < end;
        return better_of(b, best, b.load(x + (row * width + column), inside), inside, {1, tile}, first, compute);
      };
      const std::vector<Value> found = share == tile ? next(begin, nothing) : b.for_(begin, end, number(tile), nothing, next);
      const Value at = tile::reshape(row * number(shares) + part, one);
      b.store(to_extremes + at, found[0]);
      b.store(to_places + at, found[1]);
      kernel.launch({rows, shares, 1});
    }
    ops::KernelLaunch kernel(context, std::string(name()) + "_combine");
    tile::Builder& b = kernel.builder();
    const Value from_extremes = kernel.scratch(extremes, compute, false), from_places = kernel.scratch(places, i64, false),
                y = kernel.output();
    const Value row = b.program_id(0), begin = row * b.constant(shares, i64);
    // Among equal ones the first share's is taken: the lower index.
    const Value best = tile::arg_reduce(b.load(from_extremes + (begin + tile::row(b.arange(0, shares)))), 1, kind_);
    b.store(y + tile::reshape(row, {1, 1}), b.load(from_places + (begin + best)));
    kernel.launch({rows, 1, 1});
  }

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

void add_arg_reduce_ops(OpTable& table) {
  table.add_class<ArgReduceOp>("argmax", 1, Reduction::Max);
  table.add_class<ArgReduceOp>("argmin", 1, Reduction::Min);
}

}  // namespace tegula
