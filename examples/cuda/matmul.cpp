// A matrix product, naive and in tiles of shared memory (matmul.cu), beside matmul().

#include "examples/cuda/check.h"

using namespace tegula;

int main() {
  const CudaSource source = beside("matmul.cu");
  const std::int64_t m = 35, n = 50, k = 45;
  const Tensor a = normal({m, k}), b = normal({k, n});
  for (const char* const name : {"matmul_naive", "matmul_tiled"})
    check(
        name,
        cuda_kernel(name, source, {a, b, cuda_out({m, n}), m, n, k}, {.grid = {divide_up(n, 16), divide_up(m, 16)}, .block = {16, 16}})[0],
        matmul(a, b), 1e-4);

  // With a gradient by the kernel itself: dA = dC B', dB = A' dC.
  const auto product = [=](const Tensor& p, const Tensor& q) {
    const std::int64_t rows = p.shape()[0], columns = q.shape()[1];
    return cuda_kernel("matmul_tiled", source, {p, q, cuda_out({rows, columns}), rows, columns, p.shape()[1]},
                       {.grid = {divide_up(columns, 16), divide_up(rows, 16)}, .block = {16, 16}})[0];
  };
  const RawKernel with_gradient = cuda_kernel("matmul_tiled", source).gradient([=](const CudaGradient& g) {
    const Tensor &p = g.inputs[0], &q = g.inputs[1], &d = g.gradients[0];
    return std::vector{product(d, transpose(q, 0, 1)), product(transpose(p, 0, 1), d)};
  });
  const auto loss = [&](const Tensor& c) { return sum(c * c); };
  const Tensor mine =
      loss(with_gradient({.grid = {divide_up(n, 16), divide_up(m, 16)}, .block = {16, 16}}, {a, b, cuda_out({m, n}), m, n, k})[0]);
  const Tensor theirs = loss(matmul(a, b));
  check("its gradient of A", grad(mine, a), grad(theirs, a), 1e-2);
  check("its gradient of B", grad(mine, b), grad(theirs, b), 1e-2);
}
