#pragma once
// Sparse matrices, and sums by an index that stays the same: what can be sorted is sorted once, then every row adds its own lines up in a fixed order. Rows of any number;
// the same bits at every run. On the CPU and on a GPU by kernels of our own. f32, f64, halves (summed in f32), integers.

#include <cstdint>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The row of the result to which each of `count` lines belongs, sorted. Made outside of a jit-ed function it is sorted once, whatever the number of steps.
struct Segments {
  Tensor index;  // i64 (count): the row of each line
  Tensor starts, order;  // i64 (rows + 1), (count): row r has lines order[starts[r]] … order[starts[r + 1] - 1]
  std::int64_t rows = 0;
};
/// index (count), integers in [0, rows): an Error when it is computed for others.
Segments segments(Arg index, std::int64_t rows);

/// x (count, …) -> (rows, …): the sum, mean or greatest of the lines of each row. A row without lines is 0, in segment_max -inf. The gradient of segment_max is shared among
/// equals.
Tensor segment_sum(Arg x, const Segments& segments);
Tensor segment_mean(Arg x, const Segments& segments);
Tensor segment_max(Arg x, const Segments& segments);
/// x (rows, …) -> (count, …): each line's row, as take(x, segments.index, 0). Its gradient is a segment_sum, which sorts nothing.
Tensor segment_take(Arg x, const Segments& segments);
/// x (count, …) -> (count, …): exp(x) divided by the sum of those of its row.
Tensor segment_softmax(Arg x, const Segments& segments);

/// A matrix (rows, columns) with `count` entries by rows (CSR), and by columns for gradients. Equal places are added up.
struct SparseMatrix {
  Tensor values;  // (count), in the order that coo() was given
  Tensor row, column;  // i64 (count)
  Segments by_row, by_column;
  Tensor row_lines, column_lines;  // i64 (count): columns of the entries by rows, rows of the entries by columns
};
/// Makes a matrix from the places of its entries (count), integers, and their values (count).
SparseMatrix sparse_coo(Arg row, Arg column, Arg values, std::int64_t rows, std::int64_t columns);
/// Makes a matrix from starts (rows + 1) and columns (count), as SciPy has them.
SparseMatrix sparse_csr(Arg starts, Arg column, Arg values, std::int64_t columns);
/// a b: b (columns, width), or (columns). Gradients of b and of the values; again differentiable.
Tensor sparse_matmul(const SparseMatrix& a, Arg b);
/// The same with other values in the same places.
Tensor sparse_matmul(const SparseMatrix& a, Arg values, Arg b);

enum class BagMode : std::uint8_t { Sum, Mean };
struct BagOptions {
  BagMode mode = BagMode::Mean;
};
/// The sum or mean of rows of weight (n, width) for each bag: bag i has indices (count) offsets[i] … offsets[i + 1] - 1, offsets (bags + 1) (torch's EmbeddingBag with
/// include_last_offset). An empty bag is 0.
Tensor embedding_bag(Arg indices, Arg offsets, Arg weight, const BagOptions& options = {});

}  // namespace tegula
