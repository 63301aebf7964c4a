// expect: ^while_: got a condition of type bool\[4\]
// expect: expected a bool scalar
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;
const auto loop = jit("loop", [](Out<float> y, Int n) {
  Tile at = n + 0;
  while_([&] { return arange(0, 4) < at; }, [&] { at -= 1; });  // here
  store(y, at);
});
}  // namespace kernels

using namespace tegula;

void tile_while_of_a_tile() { static_cast<void>(kernels::loop({1}, tile::out({1}), 3)[0].to_host()); }
