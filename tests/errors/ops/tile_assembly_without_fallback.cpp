// expect: ^inline_asm_elementwise: got the PTX "ex2.approx.f32 \$0, \$1;" on the CPU
// expect: expected a fallback that gives the same
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;
const auto assembly = jit("assembly", [](Ptr<float> x, Out<float> y) {
  const auto i = arange(0, 8);
  store(y + i, inline_asm_elementwise<float>("ex2.approx.f32 $0, $1;", "=f,f", {load(x + i)}));  // here
});
}  // namespace kernels

using namespace tegula;

void tile_assembly_without_fallback() { static_cast<void>(kernels::assembly({1}, ones({8}), tile::out({8}))[0].to_host()); }
