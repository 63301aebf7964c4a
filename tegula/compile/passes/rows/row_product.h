#pragma once
// A matmul with few rows as one tile program, together with the prologue on its rows and the epilogue on its results.

#include <optional>
#include <span>
#include <vector>

#include "tegula/compile/expression.h"
#include "tegula/core/shape.h"
#include "tegula/graph/op.h"

namespace tegula::compile {

/// The most rows of such a matmul. With more, the library is faster, because it uses tensor cores.
inline constexpr std::int64_t kFewRows = 4;

/// Columns of the result stored as a slice of a larger tensor, which is a further result, in place. Row r of the matmul is row
/// r % rows of the slice; with several such tensors one after the other, it goes into tensor r / rows.
struct RowSlice {
  int whole = -1;  // the input that is written over
  Expression::Word at;  // Memory or Number, i64: the slice's begin along the axis
  std::int64_t first_column = 0, columns = 1;
  std::int64_t rows = 1, length = 1;  // of the slice, and of the whole, along the axis
};

/// y = after(before(a) · b) for few rows: `before` gives rows of K elements, `after` is elementwise.
struct RowProduct {
  std::int64_t rows = 1, terms = 1, columns = 1;  // (M, K) · (K, N)
  DType dtype = DType::f32;  // of the operands and the product
  Expression before, after;  // of the op's inputs
  std::vector<RowSlice> slices;  // further results
  bool asynchronous = true;  // see runtime::Device: says where scalars of the run lie
};

/// The strides of a tensor (…, columns) seen as (rows, columns); nothing if the leading axes have no single stride.
/// With `columns` = 1: one value per row.
struct RowLayout {
  std::int64_t row = 0, column = 0;
};
std::optional<RowLayout> row_layout(const Shape& shape, const Strides& strides, std::int64_t columns);

/// True if an instance holds all K terms at once, which a reducing `before` requires. `tile_elements`: the usual size of a tile on the device.
bool holds_all_terms(std::int64_t terms, DType dtype, std::int64_t tile_elements);

/// The approximate number of instances among which the columns are split.
std::int64_t instances_of(const RowProduct& product);

/// The op: its first input is b (K, N), in whatever layout; the others are those of the words and slices. Its results are y and the slices' wholes.
Ref<const Op> row_product_op(RowProduct product);

}  // namespace tegula::compile
