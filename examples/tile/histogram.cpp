// A histogram: each instance counts its block in a tile, then adds it to the result, which begins with zeros.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto histogram =
    jit("histogram", [](Ptr<std::int32_t> x, Out<std::int32_t> counts, Int n, Const<int, "BINS"> BINS, Const<int, "BLOCK"> BLOCK) {
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      auto values = load(x + i, i < n, -1);
      atomic_add(counts + arange(0, BINS), tegula::tile::histogram(values, BINS, i < n));
    });
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t n = 1'003;
  const Tensor x = cast(randint(0, 10, {n}), i32);
  const auto run = [&](const auto& k) { return k({cdiv(n, 128)}, x, out({16}, 0), n, 16, 128)[0]; };
  expect("histogram", kernels::histogram, run, cast(bincount(cast(x, i64), 16), i32), 0);
}
