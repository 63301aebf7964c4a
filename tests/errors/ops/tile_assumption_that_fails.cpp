// expect: ^assume: got a value of which that does not hold
// expect: expected what the kernel assumes
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;
const auto aligned = jit("aligned", [](Out<float> y, Int n) {
  assume(n % 8 == 0);  // here
  store(y, n);
});
}  // namespace kernels

using namespace tegula;

void tile_assumption_that_fails() { static_cast<void>(kernels::aligned.check()({1}, tile::out({1}), 12)[0].to_host()); }
