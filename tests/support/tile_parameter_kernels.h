#pragma once
// Kernels whose parameters bring shape and strides.

#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;

const auto copied = jit("copied", [](TensorOf<float, 2> x, TensorOf<Out<float>, 2> y, Const<int, "B"> B) {
  auto i = program_id(0) * B + arange(0, B), j = program_id(1) * B + arange(0, B);
  auto mask = col(i) < x.size(0) && row(j) < x.size(1);
  auto v = load(x + (col(i) * x.stride(0) + row(j) * x.stride(1)), mask);
  store(y + (col(i) * y.stride(0) + row(j) * y.stride(1)), v, mask);
});

// Triton's matmul by descriptors.
const auto matmul_blocks = jit("matmul_blocks", [](Descriptor<float, 2> a, Descriptor<float, 2> b, Descriptor<Out<float>, 2> c, Int K) {
  auto m = program_id(0) * c.block()[0], n = program_id(1) * c.block()[1];
  auto acc = zeros<float>(c.block());
  for (auto k : range(0, K, a.block()[1])) acc = dot(a.load({m, k}), b.load({k, n}), acc);
  c.store({m, n}, acc);
});

const auto gathered = jit("gathered", [](TensorOf<float, 2> x, Ptr<std::int64_t> rows, Out<float> y, Out<float> z, Const<int, "R"> R) {
  auto i = arange(0, R);
  auto at = load(rows + i);
  auto blocks = x.blocks({1, 4}, Padding::Nan);
  auto v = blocks.gather(at, 2);
  store(y + col(i) * 4 + row(arange(0, 4)), v);
  make_tensor_descriptor(z, {8, 4}, {4, 1}, {1, 4}).scatter(where(isnan(v), 0.0, v), at, 0);
});

// Triton's older matmul by block pointers.
const auto block_pointers = jit("block_pointers", [](Ptr<float> a, Ptr<float> b, Out<float> c, Int M, Int N, Int K, Const<int, "B"> B) {
  auto m = program_id(0) * B, n = program_id(1) * B;
  auto pa = make_block_ptr(a, {M, K}, {K, 1}, {m, 0}, {B, B});
  auto pb = make_block_ptr(b, {K, N}, {N, 1}, {0, n}, {B, B});
  auto acc = zeros<float>({B, B});
  for (auto k : range(0, K, B)) {
    acc = dot(load(pa), load(pb), acc);
    pa = advance(pa, {0, B});
    pb = advance(pb, {B, 0});
  }
  store(make_block_ptr(c, {M, N}, {N, 1}, {m, n}, {B, B}), acc);
});

constexpr auto kGrown = [](InOut<float> w, Ptr<float> x, Int n, Const<int, "B"> B) {
  auto i = program_id(0) * B + arange(0, B);
  store(w + i, load(w + i, i < n) + load(x + i, i < n), i < n);
};
const auto grown = jit("grown", kGrown);
}  // namespace kernels
