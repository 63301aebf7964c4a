// expect: load_graph: got with_kernel.graph: node 1, a kernel of the user's own, "copy", expected none
// expect: hint: load_graph\(path, \{.tile_kernels = true\}\), if you trust who has written it
#include <tegula/tegula.h>

#include "tegula/ops/tile_kernel.h"

void graph_with_kernel() {
  using namespace tegula;
  const auto copy = [](tile::Builder& b, const TileArguments& a) {
    const auto i = b.arange(0, 16), within = i < a.numbers[0];
    b.store(a.outputs[0] + i, b.load(a.inputs[0] + i, within), within);
  };
  const auto f = [&](const Tensor& x) { return tile_kernel("copy", copy, {x}, {.grid = {1}, .outputs = {{{9}, f32}}, .numbers = {9}})[0]; };
  save_graph("with_kernel.graph", f, ones({9}));
  const GraphFunction loaded = load_graph("with_kernel.graph");
}
