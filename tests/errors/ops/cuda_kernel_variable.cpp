// expect: cuda_kernel f: got the variable weight, expected one that the text declares __constant__ or __device__ outside of functions
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_variable() {
  const CudaSource source = "__constant__ float weights[3];\n__global__ void f(float* y) { y[0] = weights[0]; }";
  cuda_kernel("f", source, {cuda_out({1})}, {.variables = {{"weight", ones({3})}}});  // here
}
