// expect: show_kernel: got a result of the kernels f, g, expected the name of one of them
// expect: hint: \{\.kernel = "f"\}
#include <tegula/tile.h>
using namespace tegula;

void show_kernel_several() {
  const char* const text = "__global__ void f(float* y) { y[0] = 1; }\n__global__ void g(const float* x, float* y) { y[0] = x[0]; }";
  const Tensor x = cuda_kernel("f", text, {cuda_out({1})}, {})[0];
  show_kernel(cuda_kernel("g", text, {x, cuda_out({1})}, {})[0]);  // here
}
