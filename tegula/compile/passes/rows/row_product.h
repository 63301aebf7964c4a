#pragma once
// A product with few rows as a tile program of its own, with what is computed of the rows before it and of the results behind it.

#include <optional>
#include <span>
#include <vector>

#include "tegula/core/shape.h"
#include "tegula/graph/op.h"

namespace tegula::compile {

/// Rows from which on a product is the library's: tensor cores are worth their while.
inline constexpr std::int64_t kFewRows = 4;

/// One value of a row, made of earlier ones.
struct RowWord {
  enum class Kind : std::uint8_t {
    Product,  // the result, unrounded
    Memory,   // an input
    Number,   // an input that is a number of the run
    Op,       // an ElementwiseOp of earlier words
    Reduce,   // a ReduceOp of one earlier word, along the row
  } kind = Kind::Op;
  Ref<const Op> op;           // Op, Reduce
  std::vector<int> operands;  // Op, Reduce: earlier words. Memory, Number: the input
  DType dtype = DType::f32;
};

/// A slice along an axis of a larger tensor that columns of the results are, of which a result of its own is written over that tensor: row r of the
/// product is row r % rows of the slice, where there are several such tensors one after the other the r / rows-th.
struct RowSlice {
  int whole = -1;  // the input that is written over
  RowWord at;  // Memory or Number, i64: where along the axis the slice begins
  std::int64_t first_column = 0, columns = 1;
  std::int64_t rows = 1, length = 1;  // of the slice, and of the whole, along the axis
};

/// y = after(before(a) · b) for few rows: `before` gives rows of K elements, `after` is elementwise.
struct RowProduct {
  std::int64_t rows = 1, terms = 1, columns = 1;  // (M, K) · (K, N)
  DType dtype = DType::f32;  // of the operands and the product
  std::vector<RowWord> before, after;  // the last one of each is its value
  std::vector<RowSlice> slices;  // further results
  bool asynchronous = true;  // where numbers of the run are (runtime::Device)
};

/// Where elements of (…, columns) lie: leading axes one after the other, so far from each other, and those of the last. Nothing where leading axes
/// have no such distance. Of `columns` = 1: of a value for each row.
struct RowLayout {
  std::int64_t row = 0, column = 0;
};
std::optional<RowLayout> row_layout(const Shape& shape, const Strides& strides, std::int64_t columns);

/// Whether an instance holds all terms of its results at once, as `before` asks where it reduces; a tile has about so many elements on the device.
bool holds_all_terms(std::int64_t terms, DType dtype, std::int64_t tile_elements);

/// About how many instances share out the columns.
std::int64_t instances_of(const RowProduct& product);

/// The op: its first input is b (K, N), in whatever layout; the others are those of the words and slices. Its results are y and the slices' wholes.
Ref<const Op> row_product_op(RowProduct product);

}  // namespace tegula::compile
