#pragma once
// A launch whose program is written in the tile language (tile/language): tiles that can be assigned, loops that find what they carry.

#include <array>
#include <string>
#include <utility>

#include "tegula/ops/rows/row_kernel.h"
#include "tegula/tile/language/control.h"
#include "tegula/tile/language/products.h"

namespace tegula::ops {

/// From here to launch() the words of the language belong to it. Elements of narrow types are computed wide, as in all kernels of ops: rounded where they are
/// stored, and not after each word.
class TileLaunch {
 public:
  using Tile = tile::Tile;
  TileLaunch(KernelContext& context, std::string name)
      : context_(context),
        launch_(context, std::move(name)),
        trace_(launch_.builder(), nullptr, tile::language::Lines::Unsaid) {}

  /// Parameters.
  Tile input(int i) { return said(launch_.input(i)); }
  Tile output(int k = 0) { return said(launch_.output(k)); }
  Tile scratch(int i, DType dtype, bool writable) { return said(launch_.scratch(i, dtype, writable)); }
  Tile number(std::int64_t value) { return said(launch_.number(value)); }

  /// Of what an output's elements are computed in.
  Tile zeros(const Shape& shape, int output = 0) { return tile::full_of(shape, 0, tile::compute_type(context_.output(output).dtype)); }
  /// id * size + [0, size)
  static Tile positions(int axis, std::int64_t size) { return tile::program_id(axis) * size + tile::arange(0, size); }

  /// Hands the program over. `operations`: see KernelContext::launch.
  void launch(const std::array<std::int64_t, 3>& grid, double operations = 0) {
    trace_.finish();
    launch_.launch(grid, operations);
  }

 private:
  static Tile said(tile::Value value) { return {{value, tile::compute_type(value.dtype())}, {}}; }

  KernelContext& context_;
  KernelLaunch launch_;
  tile::language::Trace trace_;
};

}  // namespace tegula::ops
