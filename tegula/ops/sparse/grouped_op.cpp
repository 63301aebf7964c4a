#include "tegula/ops/sparse/grouped_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/core/divide.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/by_host.h"
#include "tegula/graph/in_tiles.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/formula_value.h"
#include "tegula/ops/host_call.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::ops {
namespace {

using tile::Value;

/// The groups of a tile's rows, over which it walks.
struct Groups {
  Value starts, lines, count, height, width;  // what the op reads; numbers of lines, of the source's rows and of its columns
  Value row, row_mask, column, mask;  // of the tile
};

/// Makes of `found` by `next` what is found in the end: next(found, place of an entry, its mask, place of its elements, their mask). The tile goes
/// as far as the longest of its groups, several entries at a time, so that as many reads are under way.
template <class Next>
Value walk_groups(tile::Builder& b, const Groups& g, Value found, const Next& next) {
  constexpr std::int64_t kTogether = 4;
  const Value zero = b.constant(std::int64_t{0}, i64), step = b.constant(kTogether, i64);
  const Value begin = b.load(g.starts + g.row, g.row_mask), end = b.load(g.starts + (g.row + 1), g.row_mask);
  const Value inside = RowKernel::both(g.row_mask, begin >= 0 && end <= g.count && begin < end);
  const Value length = tile::select(inside, end - begin, zero);
  const Value longest = tile::reshape(tile::reduce(length, 0, tile::Reduction::Max), {});
  return b.for_(zero, longest, step, {found}, [&](Value k, std::span<const Value> carried) -> std::vector<Value> {
    Value now = carried[0];
    for (std::int64_t e = 0; e < kTogether; ++e) {
      const Value at = k + static_cast<double>(e), entry = begin + at, here = RowKernel::both(inside, at < length);
      const Value line = b.load(g.lines + entry, here), known = here && line >= 0 && line < g.height;
      now = next(now, entry, known, line * g.width + g.column, RowKernel::both(g.mask, known));
    }
    return {now};
  })[0];
}

/// Inputs (starts, lines, source[, weights]).
class GroupedSumTilesOp final : public KernelOp {
 public:
  std::string_view name() const override { return "grouped_sum_tiles"; }
  void lower(KernelContext& context) const override {
    // Elements of a tile, a warp's, which walks no farther than a few groups go. H200, 80,000 lines of 64 in 10,000 rows: 6 us by 128, 7 by 256 and 512,
    // 11 by 1024.
    constexpr std::int64_t kElements = 128;
    const std::int64_t rows = context.output().shape[0], width = context.output().shape[1];
    const tile::Ladder& ladder = context.ladder();
    context.follow(width), context.follow(rows);
    const std::int64_t columns = ladder.columns(rows, width, kElements), height = ladder.share(rows, kElements / columns);
    KernelLaunch kernel(context, "grouped_sum");
    tile::Builder& b = kernel.builder();
    Groups g;
    g.starts = kernel.input(0), g.lines = kernel.input(1);
    const Value source = kernel.input(2), weights = context.input_count() == 4 ? kernel.input(3) : Value(), y = kernel.output();
    g.count = kernel.number(context.input(1).shape[0]), g.height = kernel.number(context.input(2).shape[0]), g.width = kernel.number(width);
    g.row = tile::col(b.program_id(0) * static_cast<double>(height) + b.arange(0, height));
    g.column = tile::row(b.program_id(1) * static_cast<double>(columns) + b.arange(0, columns));
    if (ladder.masked(rows, height)) g.row_mask = g.row < kernel.number(rows);
    g.mask = RowKernel::both(g.row_mask, ladder.masked(width, columns) ? g.column < g.width : Value());
    const DType sums = tile::compute_type(context.output().dtype);
    const Value zero = b.full({height, columns}, 0, sums);
    const Value found = walk_groups(b, g, zero, [&](Value sum, Value entry, Value entry_mask, Value at, Value mask) {
      const Value line = b.load(source + at, mask);
      return sum + (weights.is_empty() ? line : b.load(weights + entry, entry_mask) * line);
    });
    b.store(y + (g.row * g.width + g.column), found, g.mask);
    kernel.launch({divide_up(rows, height), divide_up(width, columns), 1});
  }
};

/// Inputs (starts, lines, source[, weights]); no gradient of its own.
class GroupedSumOp final : public LibraryOp, public ByHost, public InTiles {
 public:
  std::string_view name() const override { return "grouped_sum"; }
  Numerics numerics() const override { return Numerics::Full; }
  void attributes(Attributes& a) override {
    const Signature* const node = a.made_for();
    if (!node) return;
    const auto& in = node->inputs;
    a.require(in.size() == 3 || in.size() == 4, "inputs");
    a.require(in[0].dtype == i64 && in[0].shape.rank() == 1 && in[0].shape[0] >= 1 && in[1].dtype == i64 && in[1].shape.rank() == 1,
              "inputs");
    a.require(in[2].shape.rank() == 2 && in[2].dtype != boolean && (in.size() == 3 || in[3] == Result{in[1].shape, in[2].dtype}), "inputs");
    a.require(node->results[0] == Result{{in[0].shape[0] - 1, in[2].shape[1]}, in[2].dtype}, "inputs");
  }
  static runtime::GroupedSum form(std::span<const Shape> in, DType dtype) {
    return {.dtype = dtype, .count = in[1][0], .rows = in[2][0], .length = in[0][0] - 1, .width = in[2][1], .weighted = in.size() == 4};
  }
  runtime::CallDescription describe(const Setting& setting) const override {
    std::vector<Shape> shapes;
    for (const Layout& input : setting.inputs) shapes.push_back(input.shape);
    return form(shapes, setting.dtype);
  }
  std::unique_ptr<runtime::Call> by_host(runtime::Device& device, const Setting& setting) const override {
    std::vector<std::size_t> inputs;
    for (std::size_t i = 0; i < setting.inputs.size(); ++i)
      inputs.push_back(static_cast<std::size_t>(numel(setting.inputs[i].shape)) * size_of(i < 2 ? i64 : setting.dtype));
    return host_call(device, describe(setting), inputs,
                     {static_cast<std::size_t>(numel(setting.results[0].shape)) * size_of(setting.dtype)});
  }
  const InTiles* in_tiles() const override { return this; }
  std::vector<TileWay> ways_in_tiles(const runtime::CallDescription&, const Operands& operands,
                                     const tile::TilePreference&) const override {
    return {{.text = "tiles",
             .op = Ref<const Op>(new GroupedSumTilesOp),
             .inputs = {operands.inputs.begin(), operands.inputs.end()},
             .outputs = {operands.outputs.begin(), operands.outputs.end()}}};
  }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  DType input_dtype(int index, DType result) const override { return index < 2 ? i64 : result; }
  double operations(std::span<const Shape> inputs, const Shape&) const override { return runtime::work_of(form(inputs, f32)).operations; }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const std::int64_t width = shapes[2][1];
    std::fill(y.begin(), y.end(), 0.0);
    for (std::int64_t row = 0; row + 1 < shapes[0][0]; ++row)
      for (auto k = static_cast<std::size_t>(x[0][static_cast<std::size_t>(row)]);
           k < static_cast<std::size_t>(x[0][static_cast<std::size_t>(row) + 1]); ++k)
        for (std::int64_t c = 0; c < width; ++c)
          y[static_cast<std::size_t>(row * width + c)] +=
              (x.size() == 4 ? x[3][k] : 1) * x[2][static_cast<std::size_t>(static_cast<std::int64_t>(x[1][k]) * width + c)];
  }
};

/// Inputs (starts, lines, source): a tile of rows walks along the longest of its groups.
class GroupedMaxOp final : public KernelOp {
 public:
  std::string_view name() const override { return "grouped_max"; }
  void attributes(Attributes& a) override {
    const Signature* const node = a.made_for();
    if (!node) return;
    const auto& in = node->inputs;
    a.require(in.size() == 3 && in[0].dtype == i64 && in[0].shape.rank() == 1 && in[0].shape[0] >= 1, "inputs");
    a.require(in[1].dtype == i64 && in[1].shape.rank() == 1 && in[2].shape.rank() == 2 && is_float(in[2].dtype), "inputs");
    a.require(node->results[0] == Result{{in[0].shape[0] - 1, in[2].shape[1]}, in[2].dtype}, "inputs");
  }
  void lower(KernelContext& context) const override {
    const Shape &lines = context.input(1).shape, &from = context.input(2).shape, &to = context.output().shape;
    RowKernel kernel(context, "grouped_max", to[0], to[1]);
    tile::Builder& b = kernel.builder();
    Groups g;
    g.starts = kernel.input(0), g.lines = kernel.input(1);
    const Value source = kernel.input(2), y = kernel.output();
    g.count = kernel.number(lines[0]), g.height = kernel.number(from[0]), g.width = kernel.number(from[1]);
    g.row = kernel.row(), g.row_mask = kernel.row_mask(), g.column = kernel.column(), g.mask = kernel.mask();
    const Value none = b.full({kernel.tile_rows(), kernel.tile_columns()}, -std::numeric_limits<double>::infinity(),
                              tile::compute_type(context.output().dtype));
    const Value found = walk_groups(b, g, none, [&](Value greatest, Value, Value, Value at, Value mask) {
      return formula::maximum(greatest, b.load(source + at, mask, none));
    });
    b.store(y + (g.row * g.width + g.column), found, g.mask);
    kernel.launch();
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const std::int64_t width = shapes[2][1];
    std::fill(y.begin(), y.end(), -std::numeric_limits<double>::infinity());
    for (std::int64_t row = 0; row + 1 < shapes[0][0]; ++row)
      for (auto k = static_cast<std::size_t>(x[0][static_cast<std::size_t>(row)]);
           k < static_cast<std::size_t>(x[0][static_cast<std::size_t>(row) + 1]); ++k)
        for (std::int64_t c = 0; c < width; ++c) {
          double& most = y[static_cast<std::size_t>(row * width + c)];
          const double value = x[2][static_cast<std::size_t>(static_cast<std::int64_t>(x[1][k]) * width + c)];
          if (value > most || std::isnan(value)) most = value;
        }
  }
};

Tensor plain_sum(const GroupedSide& side, const Tensor& source, const Tensor& weights, const Line& where) {
  if (!side.starts.defined()) {
    const Tensor lines = gather_along(source, 0, side.lines, IndexForm::Shared, where);
    return weights.defined() ? lines * unsqueeze(weights, -1) : lines;
  }
  const Shape shape{side.starts.size(0) - 1, source.size(1)};
  const Ref<const Op> op(new GroupedSumOp);
  if (!weights.defined()) return make_node(op, {side.starts, side.lines, source}, shape, source.dtype(), where);
  const Tensor ordered = side.order.defined() ? take(weights, side.order) : weights;
  return make_node(op, {side.starts, side.lines, source, ordered}, shape, source.dtype(), where);
}

}  // namespace

Tensor grouped_sum(const GroupedMatrix& matrix, const Tensor& source, const Tensor& weights, const Line& where) {
  const bool weighted = weights.defined();
  return custom_function(
      "grouped_sum", [&](const std::vector<Tensor>& in) { return plain_sum(matrix.here, in[0], weighted ? in[1] : Tensor(), where); },
      [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
        std::vector<Tensor> out{
            grouped_sum({matrix.there, matrix.here, matrix.columns, matrix.rows}, dy, weighted ? in[1] : Tensor(), where)};
        if (weighted) out.push_back(sum(take(dy, matrix.rows, 0) * take(in[0], matrix.columns, 0), -1));
        return out;
      },
      weighted ? std::vector<Tensor>{source, weights} : std::vector<Tensor>{source}, where);
}

Tensor grouped_max(const GroupedSide& side, const Tensor& source, const Line& where) {
  const Shape shape{side.starts.size(0) - 1, source.size(1)};
  return make_node(Ref<const Op>(new GroupedMaxOp), {side.starts, side.lines, source}, shape, source.dtype(), where);
}

}  // namespace tegula::ops

namespace tegula {

void add_grouped_ops(OpTable& table) {
  table.add_class<ops::GroupedSumOp>("grouped_sum", OpTable::kAnyInputs);
  table.add_class<ops::GroupedMaxOp>("grouped_max", 3);
}

}  // namespace tegula
