// A product of matrices in 8 bits with a scale for each 32 elements along K, as MX formats have it: codes are multiplied block by block, sums are scaled.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

const auto scaled =
    jit("block_scaled_matmul", [](Ptr<std::int8_t> a, Ptr<float> scale_a, Ptr<std::int8_t> b, Ptr<float> scale_b, Out<float> c, Int M,
                                  Int N, Int K, Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BLOCK"> BLOCK) {
      auto m = program_id(0) * BM + arange(0, BM), n = program_id(1) * BN + arange(0, BN);
      auto blocks = cdiv(K, BLOCK);
      auto acc = zeros<float>({BM, BN});
      for (auto block : range(blocks)) {
        auto k = block * BLOCK + arange(0, BLOCK);
        auto left = load(a + col(m) * K + row(k), col(m) < M && row(k) < K);
        auto right = load(b + col(k) * N + row(n), col(k) < K && row(n) < N);
        auto sa = load(scale_a + m * blocks + block, m < M), sb = load(scale_b + block * N + n, n < N);
        acc += cast<float>(dot(left, right)) * col(sa) * row(sb);  // products of i8 are summed in i32, exactly
      }
      store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
    });
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

namespace {

/// Codes and scales of blocks along an axis of size 32 n.
std::pair<Tensor, Tensor> quantized(const Tensor& x, int axis) {
  const std::int64_t K = x.size(axis), other = x.size(1 - axis), blocks = K / 32;
  const Tensor parts = axis == 1 ? reshape(x, {other, blocks, 32}) : reshape(x, {blocks, 32, other});
  const Tensor scale = max(abs(parts), {axis == 1 ? 2 : 1}) / 127;
  const Tensor codes = round(parts / (axis == 1 ? reshape(scale, {other, blocks, 1}) : reshape(scale, {blocks, 1, other})));
  return {cast(reshape(codes, x.shape()), i8), scale};
}
Tensor restored(const Tensor& codes, const Tensor& scale, int axis) {
  const std::int64_t K = codes.size(axis), other = codes.size(1 - axis), blocks = K / 32;
  const Tensor x = cast(codes, f32);
  if (axis == 1) return reshape(reshape(x, {other, blocks, 32}) * reshape(scale, {other, blocks, 1}), {other, K});
  return reshape(reshape(x, {blocks, 32, other}) * reshape(scale, {blocks, 1, other}), {K, other});
}

}  // namespace

int main() {
  const std::int64_t M = 45, N = 37, K = 96;
  const auto [a, scale_a] = quantized(normal({M, K}), 1);
  const auto [b, scale_b] = quantized(normal({K, N}), 0);
  const auto run = [&, &a = a, &b = b, &scale_a = scale_a, &scale_b = scale_b](const auto& k) {
    return k({cdiv(M, 16), cdiv(N, 16)}, a, scale_a, b, scale_b, out({M, N}), M, N, K, 16, 16, 32)[0];
  };
  expect("product of blocks with scales", kernels::scaled, run, matmul(restored(a, scale_a, 1), restored(b, scale_b, 0)));
}
