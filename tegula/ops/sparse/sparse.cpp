#include "tegula/ops/sparse/sparse.h"

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/search.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/sparse/grouped_op.h"

namespace tegula {
namespace {

/// Integers (count) in [0, size).
Tensor checked_index(std::string_view op, const Arg& given, std::int64_t size) {
  const Tensor index = given.tensor(op);
  if (index.rank() != 1 || !is_integer(index.dtype()))
    ops::refuse(op, std::string(name(index.dtype())) + " of shape " + to_string(index.shape()), "integers of shape (count)", given.loc);
  if (size < 0) ops::refuse(op, std::to_string(size) + " rows", "at least 0", given.loc);
  return ops::checked_place(op, graph::cast(index, i64, given.loc), 0, size, 1, given.loc);
}

Segments sorted(const Tensor& index, std::int64_t rows) {
  const Tensor order = argsort(index), ascending = take(index, order);
  return {index, searchsorted(ascending, arange(rows + 1)), order, rows};
}

/// The matrix (rows, count) with a 1 for each line.
ops::GroupedMatrix lines_of(const Segments& s) { return {{s.starts, s.order, {}}, {{}, s.index, {}}, s.index, arange(s.index.size(0))}; }

/// The row of each line, of rows (rows, width).
Tensor rows_of_lines(const Segments& s, const Tensor& rows, const Line& where) {
  const ops::GroupedMatrix m = lines_of(s);
  return ops::grouped_sum({m.there, m.here, m.columns, m.rows}, rows, {}, where);
}

/// x (count, …) with its other axes as one.
Tensor flat(std::string_view op, const Arg& of_x, std::int64_t count) {
  const Tensor x = of_x.tensor(op);
  if (x.rank() < 1 || x.size(0) != count)
    ops::refuse(op, "shape " + to_string(x.shape()), "(" + std::to_string(count) + ", …), a line for each of the index", of_x.loc);
  return reshape(x, {count, numel(x.shape(), 1, x.rank())});
}
Tensor with_rows(const Tensor& y, const Tensor& x, std::int64_t rows) {
  Shape shape = x.shape();
  shape[0] = rows;
  return reshape(y, shape);
}
Tensor floats(std::string_view op, const Tensor& x, const Line& where) {
  if (!is_float(x.dtype())) ops::refuse(op, std::string(name(x.dtype())), "a float dtype", where);
  return x;
}

Tensor counts_of(const Segments& s, DType dtype) {
  const Tensor count = slice(s.starts, 0, {1, {}}) - slice(s.starts, 0, {0, -1});
  return unsqueeze(cast(maximum(count, std::int64_t{1}), dtype), -1);
}

/// The maximum of each segment of float lines (count, width).
Tensor greatest(const Segments& s, const Tensor& x, const Line& where) {
  return custom_function(
      "segment_max", [&](const std::vector<Tensor>& in) { return ops::grouped_max({s.starts, s.order, {}}, in[0], where); },
      [=](const std::vector<Tensor>& in, const Tensor& y, const Tensor& dy) {
        // If y is computed before and the lines must be computed again, they may differ by a rounding: so is the greatest.
        const bool again = !in[0].node()->has_value() && !Trace::current();
        const Tensor most = again ? ops::grouped_max({s.starts, s.order, {}}, in[0], where) : y;
        const Tensor chosen = cast(in[0] == rows_of_lines(s, most, where), in[0].dtype());
        const Tensor share = dy / maximum(ops::grouped_sum(lines_of(s), chosen, {}, where), 1.0);
        return std::vector<Tensor>{chosen * rows_of_lines(s, share, where)};
      },
      {x}, where);
}

}  // namespace

Segments segments(Arg index, std::int64_t rows) {
  const In frame("segments", index.loc);
  return sorted(checked_index("segments", index, rows), rows);
}

Tensor segment_sum(Arg of_x, const Segments& s) {
  const In frame("segment_sum", of_x.loc);
  const Tensor x = of_x.tensor("segment_sum"), lines = flat("segment_sum", of_x, s.index.size(0));
  return with_rows(ops::grouped_sum(lines_of(s), lines, {}, of_x.loc), x, s.rows);
}

Tensor segment_mean(Arg of_x, const Segments& s) {
  const In frame("segment_mean", of_x.loc);
  const Tensor x = floats("segment_mean", of_x.tensor("segment_mean"), of_x.loc), lines = flat("segment_mean", of_x, s.index.size(0));
  return with_rows(ops::grouped_sum(lines_of(s), lines, {}, of_x.loc) / counts_of(s, x.dtype()), x, s.rows);
}

Tensor segment_max(Arg of_x, const Segments& s) {
  const In frame("segment_max", of_x.loc);
  const Tensor x = floats("segment_max", of_x.tensor("segment_max"), of_x.loc), lines = flat("segment_max", of_x, s.index.size(0));
  return with_rows(greatest(s, lines, of_x.loc), x, s.rows);
}

Tensor segment_softmax(Arg of_x, const Segments& s) {
  const In frame("segment_softmax", of_x.loc);
  const Tensor x = floats("segment_softmax", of_x.tensor("segment_softmax"), of_x.loc),
               lines = flat("segment_softmax", of_x, s.index.size(0));
  const Tensor most = stop_gradient(ops::grouped_max({s.starts, s.order, {}}, lines, of_x.loc));
  const Tensor e = exp(lines - rows_of_lines(s, where(isinf(most), 0.0, most), of_x.loc));
  return reshape(e / rows_of_lines(s, ops::grouped_sum(lines_of(s), e, {}, of_x.loc), of_x.loc), x.shape());
}

Tensor segment_take(Arg of_x, const Segments& s) {
  const In frame("segment_take", of_x.loc);
  const Tensor x = of_x.tensor("segment_take");
  if (x.rank() < 1 || x.size(0) != s.rows)
    ops::refuse("segment_take", "shape " + to_string(x.shape()), "(" + std::to_string(s.rows) + ", …), one for each row of the segments",
                of_x.loc);
  return with_rows(rows_of_lines(s, reshape(x, {s.rows, numel(x.shape(), 1, x.rank())}), of_x.loc), x, s.index.size(0));
}

SparseMatrix sparse_coo(Arg of_row, Arg of_column, Arg of_values, std::int64_t rows, std::int64_t columns) {
  const In frame("sparse_coo", of_row.loc);
  const Tensor row = checked_index("sparse_coo", of_row, rows), column = checked_index("sparse_coo", of_column, columns);
  const Tensor values = of_values.tensor("sparse_coo");
  if (row.shape() != column.shape() || row.shape() != values.shape())
    ops::refuse("sparse_coo", "shapes " + to_string(row.shape()) + ", " + to_string(column.shape()) + " and " + to_string(values.shape()),
                "three of one shape (count)", of_row.loc);
  SparseMatrix out{values, row, column, sorted(row, rows), sorted(column, columns), {}, {}};
  out.row_lines = take(column, out.by_row.order), out.column_lines = take(row, out.by_column.order);
  return out;
}

SparseMatrix sparse_csr(Arg of_starts, Arg of_column, Arg of_values, std::int64_t columns) {
  const In frame("sparse_csr", of_starts.loc);
  const Tensor starts = of_starts.tensor("sparse_csr");
  if (starts.rank() != 1 || starts.size(0) < 1 || !is_integer(starts.dtype()))
    ops::refuse("sparse_csr", std::string(name(starts.dtype())) + " of shape " + to_string(starts.shape()), "integers of shape (rows + 1)",
                of_starts.loc);
  const Tensor places = cast(starts, i64), entries = arange(of_column.tensor("sparse_csr").size(0));
  return sparse_coo(searchsorted(places, entries, Side::Right) - 1, of_column, of_values, starts.size(0) - 1, columns);
}

Tensor sparse_matmul(const SparseMatrix& a, Arg of_values, Arg of_b) {
  const In frame("sparse_matmul", of_b.loc);
  const Tensor b = of_b.tensor("sparse_matmul"), values = of_values.tensor("sparse_matmul");
  if ((b.rank() != 1 && b.rank() != 2) || b.size(0) != a.by_column.rows || values.shape() != a.row.shape())
    ops::refuse("sparse_matmul", "shapes " + to_string(values.shape()) + " and " + to_string(b.shape()),
                to_string(a.row.shape()) + ", and (" + std::to_string(a.by_column.rows) + ", width) or without width", of_b.loc);
  const Tensor dense = b.rank() == 1 ? unsqueeze(b, -1) : b;
  const ops::GroupedMatrix matrix{
      {a.by_row.starts, a.row_lines, a.by_row.order}, {a.by_column.starts, a.column_lines, a.by_column.order}, a.row, a.column};
  const Tensor y = ops::grouped_sum(matrix, dense, cast(values, b.dtype()), of_b.loc);
  return b.rank() == 1 ? squeeze(y, -1) : y;
}
Tensor sparse_matmul(const SparseMatrix& a, Arg b) { return sparse_matmul(a, Arg(a.values, b.loc), b); }

Tensor embedding_bag(Arg of_indices, Arg of_offsets, Arg of_weight, const BagOptions& options) {
  const In frame("embedding_bag", of_indices.loc);
  const Tensor weight = of_weight.tensor("embedding_bag"), offsets = of_offsets.tensor("embedding_bag");
  if (weight.rank() != 2 || !is_float(weight.dtype()))
    ops::refuse("embedding_bag", std::string(name(weight.dtype())) + " of shape " + to_string(weight.shape()), "floats of shape (n, width)",
                of_weight.loc);
  if (offsets.rank() != 1 || offsets.size(0) < 1 || !is_integer(offsets.dtype()))
    ops::refuse("embedding_bag", std::string(name(offsets.dtype())) + " of shape " + to_string(offsets.shape()),
                "integers of shape (bags + 1)", of_offsets.loc);
  const Tensor indices = checked_index("embedding_bag", of_indices, weight.size(0)), starts = cast(offsets, i64),
               entries = arange(indices.size(0));
  const Tensor bag = searchsorted(starts, entries, Side::Right) - 1;
  const Segments by_row = sorted(indices, weight.size(0));
  const ops::GroupedMatrix matrix{{starts, indices, {}}, {by_row.starts, take(bag, by_row.order), {}}, bag, indices};
  const Tensor sums = ops::grouped_sum(matrix, weight, {}, of_indices.loc);
  if (options.mode == BagMode::Sum) return sums;
  return sums / counts_of({bag, starts, {}, offsets.size(0) - 1}, weight.dtype());
}

}  // namespace tegula
