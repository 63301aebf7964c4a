// Rows are sorted within a tile; a second tensor is reordered by the indices that the sort returns.
#include "examples/tile/check.h"

#include <cmath>

namespace kernels {
using namespace tegula::tile;

const auto sort_rows = jit("sort_rows", [](Ptr<float> x, Out<float> y, Out<std::int64_t> places, Int columns, Const<int, "BLOCK"> BLOCK) {
  auto at = program_id(0) * columns + arange(0, BLOCK);
  auto mask = arange(0, BLOCK) < columns;
  auto v = load(x + at, mask, INFINITY);  // padding comes last
  store(y + at, sort(v, 0), mask);
  store(places + at, argsort(v, 0), mask);
});
const auto best = jit("top_k", [](Ptr<float> x, Out<float> y, Int columns, Const<int, "K"> K, Const<int, "BLOCK"> BLOCK) {
  auto j = arange(0, BLOCK);
  auto v = load(x + program_id(0) * columns + j, j < columns, -INFINITY);
  store(y + program_id(0) * K + arange(0, K), topk(v, K));
});
}  // namespace kernels

using namespace tegula;
using tile::out;

int main() {
  const Tensor x = normal({9, 100});
  const auto run = [&](int which) {
    return
        [&, which](const auto& k) { return cast(k({9}, x, out({9, 100}), out({9, 100}), 100, 128)[static_cast<std::size_t>(which)], f32); };
  };
  expect("sorted rows", kernels::sort_rows, run(0), sort(x).values, 0);
  expect("their places", kernels::sort_rows, run(1), cast(argsort(x), f32), 0);
  const auto five = [&](const auto& k) { return k({9}, x, out({9, 5}), 100, 5, 128)[0]; };
  expect("the five greatest", kernels::best, five, slice(sort(x, -1, Order::Descending).values, 1, {0, 5}), 0);
}
