#include "tegula/cuda/blas/blas_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/runtime/checks.h"

namespace tegula::gpu {
namespace {

[[noreturn]] void refuse(std::string got, std::string expected) {
  throw Error({.op = "matmul", .got = std::move(got), .expected = std::move(expected)});
}

/// The last two axes.
struct Matrix {
  std::int64_t rows, columns, row_stride, column_stride;
};

/// The layout as a BLAS matrix. The stride of an axis of size 1 is arbitrary, and is set to suit the other axis; a matrix that may count as row-major does.
Matrix matrix_of(const Layout& layout) {
  const int r = layout.shape.rank() - 2, c = r + 1;
  Matrix m{layout.shape[r], layout.shape[c], layout.strides[r], layout.strides[c]};
  if (m.columns <= 1) m.column_stride = 1;
  if (m.rows <= 1) m.row_stride = m.column_stride == 1 ? std::max<std::int64_t>(m.columns, 1) : 1;
  const bool by_rows = m.column_stride == 1 && m.row_stride >= m.columns, by_columns = m.row_stride == 1 && m.column_stride >= m.rows;
  if (!by_rows && !by_columns && numel(layout.shape) > 0) {
    refuse("strides " + to_string(layout.strides) + " of shape " + to_string(layout.shape),
           "rows or columns that are contiguous and do not overlap");
  }
  return m;
}

/// A batch axis with its strides in a, b and c.
struct BatchAxis {
  std::int64_t size;
  std::array<std::int64_t, 3> strides;
};

/// Axes that lie behind one another in all three become one; those of size 1 vanish.
std::vector<BatchAxis> batch_axes(const runtime::Matmul& d) {
  std::vector<BatchAxis> axes;
  for (int i = 0; i + 2 < d.c.layout.shape.rank(); ++i) {
    const std::int64_t size = d.c.layout.shape[i];
    if (size == 1) continue;
    const auto stride = [&](const Layout& layout) { return layout.shape[i] == 1 ? 0 : layout.strides[i]; };
    const BatchAxis axis{size, {stride(d.a.layout), stride(d.b.layout), d.c.layout.strides[i]}};
    bool joins = !axes.empty();
    for (std::size_t t = 0; joins && t < 3; ++t) joins = axes.back().strides[t] == axis.strides[t] * size;
    if (joins) axes.back() = {axes.back().size * size, axis.strides};
    else axes.push_back(axis);
  }
  return axes;
}

/// The innermost batch axes that continue the rows of A and C while B stays the same become rows: one large product instead of many.
void fold_into_rows(std::vector<BatchAxis>& axes, Matrix& a, Matrix& c) {
  while (!axes.empty()) {
    const auto [size, strides] = axes.back();
    if (strides[1] != 0 || c.column_stride != 1 || a.column_stride != 1) return;
    const bool single = c.rows == 1 && strides[0] >= a.columns && strides[2] >= c.columns;
    if (single) a.row_stride = strides[0], c.row_stride = strides[2];
    else if (strides[0] != a.rows * a.row_stride || strides[2] != c.rows * c.row_stride) return;
    a.rows *= size, c.rows *= size;
    axes.pop_back();
  }
}

BlasMatrix column_major(const Matrix& m) {
  if (m.column_stride == 1 && (m.row_stride >= m.columns)) {
    return {.rows = m.columns, .columns = m.rows, .leading = std::max<std::int64_t>(m.row_stride, 1), .transposed = true};
  }
  return {.rows = m.rows, .columns = m.columns, .leading = std::max<std::int64_t>(m.column_stride, 1)};
}

}  // namespace

BlasProduct blas_product(const runtime::Matmul& d) {
  runtime::check(d);
  Matrix a = matrix_of(d.a.layout), c = matrix_of(d.c.layout);
  const Matrix b = matrix_of(d.b.layout);
  BlasProduct p;
  std::vector<BatchAxis> axes = batch_axes(d);
  if (numel(d.c.layout.shape) > 0) fold_into_rows(axes, a, c);
  p.k = a.columns;
  p.left = column_major(a), p.right = column_major(b), p.result = column_major(c);
  p.m = c.rows, p.n = c.columns;
  // C by rows is the transposed result by columns: Cᵀ = Bᵀ · Aᵀ.
  if (p.result.transposed) {
    std::swap(p.m, p.n);
    std::swap(p.left, p.right);
    p.left.transposed = !p.left.transposed, p.right.transposed = !p.right.transposed;
    p.result.transposed = false;
    p.swapped = true;
  }
  // The longest axis becomes cuBLASLt's batch, the others are walked by us.
  p.offsets = {{}};
  if (axes.empty()) return p;
  const auto longest = std::max_element(axes.begin(), axes.end(), [](const BatchAxis& x, const BatchAxis& y) { return x.size < y.size; });
  p.batch = longest->size;
  p.left.batch_stride = longest->strides[p.swapped ? 1 : 0];
  p.right.batch_stride = longest->strides[p.swapped ? 0 : 1];
  p.result.batch_stride = longest->strides[2];
  axes.erase(longest);
  for (const BatchAxis& axis : axes) {
    std::vector<BlasProduct::Offset> next;
    for (const auto& offset : p.offsets) {
      for (std::int64_t i = 0; i < axis.size; ++i)
        next.push_back({offset.a + i * axis.strides[0], offset.b + i * axis.strides[1], offset.c + i * axis.strides[2]});
    }
    p.offsets = std::move(next);
  }
  return p;
}

std::string to_string(const BlasProduct& p) {
  std::string text = std::to_string(p.swapped ? p.n : p.m) + "x" + std::to_string(p.swapped ? p.m : p.n) + "x" + std::to_string(p.k);
  const std::int64_t batch = p.batch * static_cast<std::int64_t>(p.offsets.size());
  return batch == 1 ? text : text + ", batch " + std::to_string(batch);
}

}  // namespace tegula::gpu
