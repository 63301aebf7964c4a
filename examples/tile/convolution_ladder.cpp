// One convolution in three ways, each faster than the one before: the sum as it is written down; im2col and a product; the product without the matrix, whose
// elements are found where they lie (Kirk and Hwu, Programming Massively Parallel Processors).
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

// y[o, p, q] = Σ x[c, p + i, q + j] w[o, c, i, j]. Instance: a filter of a picture, and a block of pixels.
const auto direct = jit("convolution_direct", [](Ptr<float> x, Ptr<float> w, Out<float> y, Int C, Int H, Int W, Int O, Const<int, "KH"> KH,
                                                 Const<int, "KW"> KW, Const<int, "BLOCK"> BLOCK) {
  auto o = program_id(1) % O, image = program_id(1) / O;
  auto P = H - (KH - 1), Q = W - (KW - 1);
  auto at = program_id(0) * BLOCK + arange(0, BLOCK);
  auto inside = at < P * Q;
  auto p = at / Q, q = at % Q;
  auto acc = zeros<float>({BLOCK});
  for (auto c : range(C)) {
    for (int i : static_range(KH)) {
      for (int j : static_range(KW)) {
        auto v = load(x + ((image * C + c) * H + p + i) * W + q + j, inside);
        acc += v * load(w + ((o * C + c) * KH + i) * KW + j);
      }
    }
  }
  store(y + (image * O + o) * P * Q + at, acc, inside);
});

// The windows of all pictures as columns: (C KH KW, images P Q).
const auto unroll = jit("im2col", [](Ptr<float> x, Out<float> columns, Int images, Int C, Int H, Int W, Const<int, "KH"> KH,
                                     Const<int, "KW"> KW, Const<int, "BLOCK"> BLOCK) {
  auto P = H - (KH - 1), Q = W - (KW - 1);
  auto line = program_id(1);  // line of the matrix
  auto c = line / (KH * KW), i = line / KW % KH, j = line % KW;
  auto at = program_id(0) * BLOCK + arange(0, BLOCK);
  auto count = images * P * Q;
  auto image = at / (P * Q), p = at / Q % P, q = at % Q;
  store(columns + line * count + at, load(x + ((image * C + c) * H + p + i) * W + q + j, at < count), at < count);
});

// Filters (O, C KH KW) times the windows.
const auto implicit = jit("convolution_implicit_gemm",
                          [](Ptr<float> x, Ptr<float> w, Out<float> y, Int images, Int C, Int H, Int W, Int O, Const<int, "KH"> KH,
                             Const<int, "KW"> KW, Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK) {
                            auto P = H - (KH - 1), Q = W - (KW - 1);
                            auto K = C * (KH * KW), N = images * P * Q;
                            auto o = program_id(0) * BM + arange(0, BM), n = program_id(1) * BN + arange(0, BN);
                            auto image = n / (P * Q), p = n / Q % P, q = n % Q;
                            auto acc = zeros<float>({BM, BN});
                            for (auto k0 : range(0, K, BK)) {
                              auto k = k0 + arange(0, BK);
                              auto c = k / (KH * KW), i = k / KW % KH, j = k % KW;
                              auto left = load(w + col(o) * K + row(k), col(o) < O && row(k) < K);
                              auto place = ((row(image) * C + col(c)) * H + (row(p) + col(i))) * W + (row(q) + col(j));
                              acc = dot(left, load(x + place, col(k) < K && row(n) < N), acc);
                            }
                            store(y + (row(image) * O + col(o)) * (P * Q) + row(p) * Q + row(q), acc, col(o) < O && row(n) < N);
                          });
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t images = 2, C = 3, H = 13, W = 11, O = 5, P = H - 2, Q = W - 3;
  const Tensor x = normal({images, C, H, W}), w = normal({O, C, 3, 4}), wanted = conv2d(x, w);
  const auto by_sums = [&](const auto& k) {
    return k({cdiv(P * Q, 32), images * O}, x, w, out({images, O, P, Q}), C, H, W, O, 3, 4, 32)[0];
  };
  expect("direct", kernels::direct, by_sums, wanted);
  const std::int64_t lines = C * 3 * 4, count = images * P * Q;
  const auto by_matrix = [&](const auto& k) {
    const Tensor columns = k({cdiv(count, 64), lines}, x, out({lines, count}), images, C, H, W, 3, 4, 64)[0];
    return permute(reshape(matmul(reshape(w, {O, lines}), columns), {O, images, P, Q}), {1, 0, 2, 3});
  };
  expect("im2col and a product", kernels::unroll, by_matrix, wanted);
  const auto by_product = [&](const auto& k) {
    return k({cdiv(O, 16), cdiv(count, 32)}, x, w, out({images, O, P, Q}), images, C, H, W, O, 3, 4, 16, 32, 16)[0];
  };
  expect("implicit product", kernels::implicit, by_product, wanted);
}
