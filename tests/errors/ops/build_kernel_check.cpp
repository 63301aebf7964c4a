// expect: build_kernel: got checked, which checks its values \(device_assert\), expected a kernel without
#include <tegula/tile.h>

namespace checked_kernels {
using namespace tegula::tile;
const auto checked = jit("checked", [](Ptr<float> x, Out<float> y) {
  auto v = load(x + arange(0, 4));
  device_assert(v > 0.0, v, "x is positive");
  store(y + arange(0, 4), v);
});
}  // namespace checked_kernels

using namespace tegula;

void build_kernel_check() {
  build_kernel(checked_kernels::checked({1}, ones({4}), tile::out({4}))[0], "built");  // here
}
