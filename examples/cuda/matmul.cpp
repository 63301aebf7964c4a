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
}
