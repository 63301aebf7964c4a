// expect: cuda_kernel f: got text that the C\+\+ compiler refuses:
// expect: text of f:2:.*error:.*lots
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_text() {
  eval(cuda_kernel("f", "__global__ void f(float* y) {\n  y[0] = lots;\n}", {cuda_out({1})}, {})[0]);  // here
}
