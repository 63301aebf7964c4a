#pragma once
// A launch whose program is written in the tile language (tile/language): tiles that can be assigned, loops that find what they carry.

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tegula/ops/rows/row_kernel.h"
#include "tegula/tile/language/control.h"
#include "tegula/tile/language/products.h"

namespace tegula::ops {

/// From here to launch() the words of the language belong to it. Elements of narrow types are computed wide, as in all kernels of ops: rounded where they are
/// stored, and not after each word.
template <class Launch>
class LanguageLaunch {
 public:
  using Tile = tile::Tile;
  template <class... A>
  explicit LanguageLaunch(KernelContext& context, A&&... of_launch)
      : context_(context),
        launch_(context, std::forward<A>(of_launch)...),
        trace_(launch_.builder(), nullptr, tile::language::Lines::Unsaid) {}

  /// Parameters.
  Tile input(int i) { return said(launch_.input(i)); }
  Tile output(int k = 0) { return said(launch_.output(k)); }
  Tile scratch(int i, DType dtype, bool writable) { return said(launch_.scratch(i, dtype, writable)); }
  Tile number(std::int64_t value) { return said(launch_.number(value)); }

  /// Zeros of the dtype in which an output's elements are computed.
  Tile zeros(const Shape& shape, int output = 0) { return tile::full_of(shape, 0, tile::compute_type(context_.output(output).dtype)); }
  /// id * size + [0, size)
  static Tile positions(int axis, std::int64_t size) { return tile::program_id(axis) * size + tile::arange(0, size); }

  /// The places where elements are; nothing: everywhere.
  using Mask = std::optional<Tile>;
  static Mask both(const Mask& a, const Mask& b) { return a && b ? Mask(*a && *b) : a ? a : b; }
  static Tile load(const Tile& pointer, const Mask& mask) { return mask ? tile::load(pointer, *mask) : tile::load(pointer); }
  static void store(const Tile& pointer, const Tile& value, const Mask& mask) {
    if (mask) tile::store(pointer, value, *mask);
    else tile::store(pointer, value);
  }

 protected:
  static Tile said(tile::Value value) { return {{value, tile::compute_type(value.dtype())}, {}}; }

  KernelContext& context_;
  Launch launch_;
  tile::language::Trace trace_;
};

class TileLaunch : public LanguageLaunch<KernelLaunch> {
 public:
  TileLaunch(KernelContext& context, std::string name) : LanguageLaunch(context, std::move(name)) {}

  /// Hands the program over. `operations`: see KernelContext::launch.
  void launch(const std::array<std::int64_t, 3>& grid, double operations = 0) {
    trace_.finish();
    launch_.launch(grid, operations);
  }
};

/// One over rows and columns (RowKernel), which instances share out.
class TileRows : public LanguageLaunch<RowKernel> {
 public:
  TileRows(KernelContext& context, std::string name, std::int64_t rows, std::int64_t columns)
      : LanguageLaunch(context, std::move(name), rows, columns) {}

  Tile row() const { return row_; }  // (R, 1)
  Tile column() const { return column_; }  // (1, C)
  Shape tile() const { return {launch_.tile_rows(), launch_.tile_columns()}; }
  /// The parts of the tile inside the domain.
  Mask row_mask() const { return row_mask_; }
  Mask column_mask() const { return column_mask_; }
  Mask mask() const { return both(row_mask_, column_mask_); }

  void launch() {
    trace_.finish();
    launch_.launch();
  }

 private:
  static Mask mask_of(tile::Value mask) { return mask.is_empty() ? Mask() : Mask(said(mask)); }

  // Made outside of all loops: a loop's words may only use tiles from outside, not values.
  Tile row_ = said(launch_.row()), column_ = said(launch_.column());
  Mask row_mask_ = mask_of(launch_.row_mask()), column_mask_ = mask_of(launch_.column_mask());
};

}  // namespace tegula::ops
