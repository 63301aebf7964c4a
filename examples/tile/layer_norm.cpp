// Layer normalisation, forward and backward: the sums over rows for the weights' gradients are atomic additions.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto forward = jit("layer_norm", [](Ptr<float> x, Ptr<float> w, Ptr<float> b, Out<float> y, Out<float> mean, Out<float> rstd, Int N,
                                          Float eps, Const<int, "BLOCK"> BLOCK) {
  auto r = program_id(0);
  auto px = x + r * N, py = y + r * N;
  auto j = arange(0, BLOCK);
  auto sums = zeros<float>({BLOCK});
  for (auto first : range(0, N, BLOCK)) sums += load(px + first + j, first + j < N, 0.0);
  auto m = sum(sums, 0) / N;
  auto squares = zeros<float>({BLOCK});
  for (auto first : range(0, N, BLOCK)) {
    auto d = where(first + j < N, load(px + first + j, first + j < N) - m, 0.0);
    squares += d * d;
  }
  auto s = rsqrt(sum(squares, 0) / N + eps);
  store(mean + r, m);
  store(rstd + r, s);
  for (auto first : range(0, N, BLOCK)) {
    auto at = first + j;
    auto mask = at < N;
    store(py + at, (load(px + at, mask) - m) * s * load(w + at, mask) + load(b + at, mask), mask);
  }
});

const auto backward = jit("layer_norm_backward",
                          [](Ptr<float> x, Ptr<float> w, Ptr<float>, Ptr<float>, Ptr<float> mean, Ptr<float> rstd, Ptr<float> dy,
                             Ptr<float>, Ptr<float>, Out<float> dx, Out<float> dw, Out<float> db, Int N, Float, Const<int, "BLOCK"> BLOCK) {
                            auto r = program_id(0);
                            auto m = load(mean + r), s = load(rstd + r);
                            auto j = arange(0, BLOCK);
                            auto dots = zeros<float>({BLOCK}), sums = zeros<float>({BLOCK});
                            for (auto first : range(0, N, BLOCK)) {
                              auto at = first + j;
                              auto mask = at < N;
                              auto normal = where(mask, (load(x + r * N + at, mask) - m) * s, 0.0);
                              auto g = load(dy + r * N + at, mask);
                              auto scaled = g * load(w + at, mask);
                              sums += scaled;
                              dots += scaled * normal;
                              atomic_add(dw + at, g * normal, mask);
                              atomic_add(db + at, g, mask);
                            }
                            auto a = sum(sums, 0) / N, c = sum(dots, 0) / N;
                            for (auto first : range(0, N, BLOCK)) {
                              auto at = first + j;
                              auto mask = at < N;
                              auto normal = (load(x + r * N + at, mask) - m) * s;
                              store(dx + r * N + at, (load(dy + r * N + at, mask) * load(w + at, mask) - a - normal * c) * s, mask);
                            }
                          });
const auto layer_norm = forward.gradient(backward);
}  // namespace kernels

using namespace tegula;
using tile::out;

int main() {
  const std::int64_t rows = 21, n = 300;
  const Tensor x = normal({rows, n}), w = normal({n}), b = normal({n}), u = normal({rows, n});
  const auto run = [&](const auto& k) { return k({rows}, x, w, b, out({rows, n}), out({rows}), out({rows}), n, 1e-5, 128)[0]; };
  expect("layer norm", kernels::layer_norm, run, layer_norm(x, {n}, {w, b}));
  const auto got = grad(sum(run(kernels::layer_norm) * u), {x, w, b}), want = grad(sum(layer_norm(x, {n}, {w, b}) * u), {x, w, b});
  const char* const names[] = {"gradient of x", "of the weight", "of the bias"};
  for (std::size_t k = 0; k < 3; ++k) expect_values(names[k], got[k], want[k]);
}
