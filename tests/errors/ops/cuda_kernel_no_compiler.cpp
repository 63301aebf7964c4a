// expect: cuda_kernel f: got no program nothing-of-that-name in PATH, expected the system's C\+\+ compiler
// expect: hint: install g\+\+ or clang, or name one by TEGULA_CXX
#include <cstdlib>

#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_no_compiler() {
  setenv("TEGULA_CXX", "nothing-of-that-name", 1);
  eval(cuda_kernel("f", "__global__ void f(float* y) { y[0] = 1; }", {cuda_out({1})}, {})[0]);  // here
}
