// expect: cuda_kernel f: got 16 bytes for the variable weights, expected at most its 12
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_variable_size() {
  const CudaSource source = "__constant__ float weights[3];\n__global__ void f(float* y) { y[0] = weights[0]; }";
  eval(cuda_kernel("f", source, {cuda_out({1})}, {.variables = {{"weights", ones({4})}}})[0]);  // here
}
