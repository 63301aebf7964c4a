#pragma once
// The frame of the kernels in this room: a domain of (rows, columns), cut into tiles that are spread over program instances.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tegula/core/number.h"
#include "tegula/tile/kernel_context.h"
#include "tegula/tile/reduction.h"

namespace tegula::ops {

/// An instance's way to the columns of its rows.
enum class Columns : std::uint8_t {
  Spread,  // instances share them out
  Looped,  // each instance walks over all columns, a tile at a time: for_each_tile
  Whole,   // one tile holds them all
};

/// One launch under construction: a program, and the arguments for its parameters.
class KernelLaunch {
 public:
  using Value = tile::Value;
  KernelLaunch(KernelContext& context, std::string name) : context_(context), builder_(std::move(name)) {}

  tile::Builder& builder() { return builder_; }
  /// Parameters.
  Value input(int i);
  /// An input that may be computed (KernelOp::input_read_by_index): its parameter, if it has one, and its elements at these positions.
  Value input_by_place(int i) { return context_.computed(i) ? Value() : input(i); }
  Value load(int i, Value pointer, Value places, Value mask);
  Value output(int k = 0);
  /// One that may be written: an output, or a scratch buffer of elements of this dtype.
  Value target(const KernelArgument& argument, DType dtype);
  Value scratch(int i, DType dtype, bool writable);
  Value number(std::int64_t value);
  Value real(const Number& value, DType dtype);

  /// Hands the program over. `operations`: see KernelContext::launch.
  void launch(const std::array<std::int64_t, 3>& grid, double operations = 0);

 protected:
  KernelContext& context_;
  tile::Builder builder_;

 private:
  std::vector<KernelArgument> arguments_;
};

/// One over rows and columns. Extents are arguments of the launch, so that programs over tensors of different sizes are shared;
/// only the tile's own sizes are part of the program.
class RowKernel : public KernelLaunch {
 public:
  RowKernel(KernelContext& context, std::string name, std::int64_t rows, std::int64_t columns, Columns mode = Columns::Spread);

  /// The instance's indices, i64: rows (R, 1) and, unless looped, columns (1, C).
  Value row() const { return row_; }
  Value column() const { return column_; }
  /// The first of the columns, a scalar.
  Value first_column() const { return first_column_; }
  /// The parts of the tile inside the domain; empty where all of it is.
  Value row_mask() const { return row_mask_; }
  Value column_mask() const { return column_mask_; }
  Value mask() const { return both(row_mask_, column_mask_); }
  static Value both(Value a, Value b) { return a.is_empty() ? b : b.is_empty() ? a : a && b; }

  /// The extent of the tile.
  std::int64_t tile_rows() const { return tile_rows_; }
  std::int64_t tile_columns() const { return tile_columns_; }

  /// Columns::Looped: calls body with column() and mask() at each tile in turn; it maps carried values to the next ones.
  using Body = std::function<std::vector<Value>(std::span<const Value>)>;
  std::vector<Value> for_each_tile(std::vector<Value> initial, const Body& body);

  /// Hands the program over.
  void launch();

 private:
  void set_column(Value first);

  std::int64_t rows_, columns_, tile_rows_, tile_columns_;
  Columns mode_;
  Value columns_value_, row_, column_, first_column_, row_mask_, column_mask_;
};

/// A launch that stores the number in `elements` elements of an output or a scratch buffer: the first one of kernels that then change some.
void launch_fill(KernelContext& context, const KernelArgument& target, std::int64_t elements, DType dtype, const Number& value);

}  // namespace tegula::ops
