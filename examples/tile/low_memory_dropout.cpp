// Dropout that keeps a seed instead of a mask: the random number of element i is a function of the seed and i, so the backward pass makes it again.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

Tile dropped(Tile x, Tile i, Tile p, Tile seed) { return where(rand(seed, i) > p, x / (1 - p), 0.0); }

const auto forward = jit("dropout", [](Ptr<float> x, Out<float> y, Int n, Float p, Int seed, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(y + i, dropped(load(x + i, i < n), i, p, seed), i < n);
});
const auto backward =
    jit("dropout_backward", [](Ptr<float>, Ptr<float> dy, Out<float> dx, Int n, Float p, Int seed, Const<int, "BLOCK"> BLOCK) {
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      store(dx + i, dropped(load(dy + i, i < n), i, p, seed), i < n);
    });
const auto dropout = forward.gradient(backward);
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t n = 10'007;
  const Tensor x = ones({n});
  const auto run = [&](const auto& k) { return k({cdiv(n, 1024)}, x, out({n}), n, 0.25, 123, 1024)[0]; };
  const Tensor y = run(kernels::dropout);
  expect("the same numbers each time", kernels::dropout, run, y, 0);
  expect_values("mean", mean(y), ones({}), 0.02);
  expect_values("share of zeros", mean(cast(y == 0, f32)), full({}, 0.25), 0.02);
  expect_values("the gradient is that of the same mask", grad(sum(y), x), y, 0);  // for a dy of ones both are the factors
}
