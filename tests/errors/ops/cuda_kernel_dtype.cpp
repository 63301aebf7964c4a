// expect: cuda_kernel f: got a tensor of i64\(3,\) for parameter 0, `const float\* x`, expected f32
// expect: hint: cast it, or make the kernel a template of its type
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_dtype() {
  cuda_kernel("f", "__global__ void f(const float* x, float* y) { y[0] = x[0]; }", {arange(3), cuda_out({1})}, {});  // here
}
