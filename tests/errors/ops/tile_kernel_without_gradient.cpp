// expect: ^halved: got a gradient that is wanted of input 0 of a tile kernel without one
// expect: expected kernel.gradient\(another kernel, or a function\)
// expect: stop_gradient
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;
const auto halved = jit("halved", [](Ptr<float> x, Out<float> y) {
  Tile v = load(x);
  while_([&] { return v > 1; }, [&] { v = v / 2; });
  store(y, v);
});
}  // namespace kernels

using namespace tegula;

void tile_kernel_without_gradient() {
  Tensor x = full({1}, 7.0f);
  static_cast<void>(grad(sum(kernels::halved({1}, x, tile::out({1}))[0]), x));  // here
}
