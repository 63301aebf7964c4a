// expect: ^histogram: got an atomic word on result 0, which begins with what memory held
// expect: expected a number that it begins with: .outputs = \{\{.shape = \{4\}, .dtype = i32, .fill = 0\}\}
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_kernel.h"

using namespace tegula;

void tile_kernel_atomic_without_fill() {
  const auto histogram = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, 8);
    const auto place = b.load(a.inputs[0] + i);
    b.atomic_add(a.outputs[0] + place, b.full({8}, 1, i32));  // here
  };
  static_cast<void>(tile_kernel("histogram", histogram, {zeros({8}, i64)}, {.grid = {1}, .outputs = {{{4}, i32}}})[0].to_host<double>());
}
