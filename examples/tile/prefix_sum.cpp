// Running sums of a long row in two launches: sums of blocks, then each block's running sums behind those of the blocks before it.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto block_sums = jit("block_sums", [](Ptr<float> x, Out<float> sums, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(sums + program_id(0), sum(load(x + i, i < n, 0.0), 0));
});
const auto prefix =
    jit("prefix_sum", [](Ptr<float> x, Ptr<float> sums, Out<float> y, Int n, Const<int, "BLOCK"> BLOCK, Const<int, "BLOCKS"> BLOCKS) {
      auto b = arange(0, BLOCKS);
      auto before = sum(load(sums + b, b < program_id(0), 0.0), 0);
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      store(y + i, before + cumsum(load(x + i, i < n, 0.0), 0), i < n);
    });
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t n = 5'001, blocks = cdiv(n, 256);
  const Tensor x = uniform({n});
  const auto partial = [&](const auto& k) { return k({blocks}, x, out({blocks}), n, 256)[0]; };
  const Tensor sums = partial(kernels::block_sums);
  expect("sums of blocks", kernels::block_sums, partial, sums, 1e-6);
  const auto run = [&](const auto& k) { return k({blocks}, x, sums, out({n}), n, 256, 32)[0]; };
  expect("running sums", kernels::prefix, run, cumsum(x, 0), 1e-5);
}
