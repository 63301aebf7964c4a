// expect: ^atomic_and: got ptr<f32>
// expect: expected a pointer to integers
// expect: add, max, min and xchg take floats
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;
const auto bits = jit("bits", [](Out<float> y) { atomic_and(y, 1); });  // here
}  // namespace kernels

using namespace tegula;

void tile_atomic_and_of_floats() { static_cast<void>(kernels::bits({1}, tile::out({1}, 0))[0].to_host()); }
