// expect: cuda_kernel f: got a tensor of i64 for the variable weights of float, expected f32
// expect: hint: cast it
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_variable_dtype() {
  const CudaSource source = "__constant__ float weights[3];\n__global__ void f(float* y) { y[0] = weights[0]; }";
  cuda_kernel("f", source, {cuda_out({1})}, {.variables = {{"weights", arange(3)}}});  // here
}
