// A product by as many instances as run at once: each takes block after block, by descriptors. B is given transposed and is read where it lies.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto persistent =
    jit("persistent_matmul", [](Descriptor<float, 2> a, Descriptor<float, 2> b, Descriptor<Out<float>, 2> c, Int M, Int N, Int K) {
      const auto BM = c.block()[0], BN = c.block()[1], BK = a.block()[1];
      auto tiles_n = cdiv(N, BN);
      for (auto t : range(program_id(0), cdiv(M, BM) * tiles_n, num_programs(0))) {
        auto m = t / tiles_n * BM, n = t % tiles_n * BN;
        auto acc = zeros<float>({BM, BN});
        for (auto k : range(0, K, BK)) acc = dot(a.load({m, k}), b.load({k, n}), acc);
        c.store({m, n}, acc);
      }
    });
}  // namespace kernels

using namespace tegula;
using tile::descriptor, tile::out;

int main() {
  const std::int64_t M = 90, N = 61, K = 77;
  const Tensor a = normal({M, K}), b = normal({N, K});
  const auto run = [&](const auto& k) {
    return k({3}, descriptor(a, {32, 16}), descriptor(transpose(b), {16, 32}), descriptor(out({M, N}), {32, 32}), M, N, K)[0];
  };
  expect("product", kernels::persistent, run, matmul(a, transpose(b)));
}
