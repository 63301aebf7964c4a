// Vector addition, and SAXPY in place: an instance for each block, a mask for the elements behind the end.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

template <class T>
const auto add = jit("add", [](Ptr<T> x, Ptr<T> y, Out<T> z, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto mask = i < n;
  store(z + i, load(x + i, mask) + load(y + i, mask), mask);
});

// y = a x + y: y is a Variable, updated where it lies.
const auto saxpy = jit("saxpy", [](Float a, Ptr<float> x, InOut<float> y, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto mask = i < n;
  store(y + i, fma(a, load(x + i, mask), load(y + i, mask)), mask);
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t n = 9'843;
  const Tensor x = uniform({n}), y = uniform({n});
  expect("add", kernels::add<float>, [&](const auto& k) { return k({cdiv(n, 1024)}, x, y, out({n}), n, 1024)[0]; }, x + y, 0);
  const Tensor a = cast(x, bf16), b = cast(y, bf16);
  expect("add in bf16", kernels::add<BFloat16>, [&](const auto& k) { return k({cdiv(n, 1024)}, a, b, out({n}), n, 1024)[0]; }, a + b, 0);
  const auto updated = [&](const auto& k) {
    Variable v(y);
    k({cdiv(n, 1024)}, 2.5, x, v, n, 1024);
    return v.read();
  };
  expect("saxpy", kernels::saxpy, updated, 2.5 * x + y, 1e-6);
}
