// Sums by four kernels (reductions.cu), each beside Tegula's own.

#include "examples/cuda/check.h"

using namespace tegula;

int main() {
  const CudaSource source = beside("reductions.cu");
  const std::int64_t n = 1500, blocks = divide_up(n, 256);
  const Tensor x = normal({n}), expected = sum(x);
  for (const char* const name : {"reduce_interleaved", "reduce_sequential"})
    check(name, sum(cuda_kernel(name, source, {x, cuda_out({blocks}), n}, {.grid = {blocks}, .block = {256}})[0]), expected, 1e-3);
  check("reduce_unrolled",
        sum(cuda_kernel("reduce_unrolled<256>", source, {x, cuda_out({divide_up(n, 512)}), n},
                        {.grid = {divide_up(n, 512)}, .block = {256}})[0]),
        expected, 1e-3);
  check("reduce_shuffled",
        reshape(cuda_kernel("reduce_shuffled", source, {x, cuda_out({1}, f32, 0), n}, {.grid = {3}, .block = {256}})[0], {}), expected,
        1e-3);
}
