// Heat in a plate: each step is the mean of the four neighbours, zero outside. The field is a view with room around it: it is read where it lies.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto heat = jit("heat", [](TensorOf<float, 2> x, TensorOf<Out<float>, 2> y, Const<int, "BH"> BH, Const<int, "BW"> BW) {
  auto i = col(program_id(0) * BH + arange(0, BH)), j = row(program_id(1) * BW + arange(0, BW));
  const auto at = [&](Tile r, Tile c) {
    auto inside = r >= 0 && r < x.size(0) && c >= 0 && c < x.size(1);
    return load(x + (r * x.stride(0) + c * x.stride(1)), inside, 0.0);
  };
  auto v = (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) * 0.25;
  store(y + (i * y.stride(0) + j * y.stride(1)), v, i < y.size(0) && j < y.size(1));
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t H = 37, W = 50;
  const Tensor x = slice(normal({H + 5, W + 9}), {{2, H + 2}, {4, W + 4}});
  const Tensor kernel = tensor({0.f, 0.25f, 0.f, 0.25f, 0.f, 0.25f, 0.f, 0.25f, 0.f}, {1, 1, 3, 3});
  const auto run = [&](const auto& k) {
    Tensor field = x;
    for (int step = 0; step < 3; ++step) field = k({cdiv(H, 16), cdiv(W, 32)}, field, out({H, W}), 16, 32)[0];
    return field;
  };
  Tensor wanted = reshape(x, {1, 1, H, W});
  for (int step = 0; step < 3; ++step) wanted = conv2d(wanted, kernel, {.padding = 1});
  expect("three steps", kernels::heat, run, reshape(wanted, {H, W}));
}
