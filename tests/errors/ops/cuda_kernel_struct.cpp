// expect: cuda_kernel f: got the parameter 1, `Pair p`, in line 2 of text of f, expected a pointer, or a number of C\+\+
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_struct() {
  cuda_kernel("f", "struct Pair { int a, b; };\n__global__ void f(float* y, Pair p) { y[0] = p.a; }", {cuda_out({1}), 1}, {});  // here
}
