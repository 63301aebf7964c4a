// Softmax of rows: each is read once and written once. The grid may have any number of instances; each takes row after row.
#include "examples/tile/check.h"

#include <cmath>

namespace kernels {
using namespace tegula::tile;

const auto softmax = jit("softmax", [](Ptr<float> x, Out<float> y, Int rows, Int columns, Const<int, "BLOCK"> BLOCK) {
  for (auto r : range(program_id(0), rows, num_programs(0))) {
    auto j = arange(0, BLOCK);
    auto mask = j < columns;
    auto v = load(x + r * columns + j, mask, -INFINITY);
    v -= max(v, 0);
    auto e = exp(v);
    store(y + r * columns + j, e / sum(e, 0), mask);
  }
});
// dx = y (dy - Σ y dy)
const auto backward =
    jit("softmax_backward", [](Ptr<float>, Ptr<float> y, Ptr<float> dy, Out<float> dx, Int rows, Int columns, Const<int, "BLOCK"> BLOCK) {
      for (auto r : range(program_id(0), rows, num_programs(0))) {
        auto at = r * columns + arange(0, BLOCK);
        auto mask = arange(0, BLOCK) < columns;
        auto p = load(y + at, mask), g = load(dy + at, mask);
        store(dx + at, p * (g - sum(p * g, 0)), mask);
      }
    });
const auto softmax_rows = softmax.gradient(backward);
}  // namespace kernels

using namespace tegula;
using tile::out;

int main() {
  const Tensor x = normal({37, 781}), u = normal({37, 781});
  const auto run = [&](const auto& k) { return k({4}, x, out({37, 781}), 37, 781, 1024)[0]; };
  expect("softmax", kernels::softmax_rows, run, softmax(x, 1), 1e-6);
  expect_values("its gradient", grad(sum(run(kernels::softmax_rows) * u), x), grad(sum(softmax(x, 1) * u), x), 1e-6);
}
