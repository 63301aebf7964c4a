// expect: cuda_kernel f: got a template without its arguments, expected f<float>, or what else its parameters are
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_template() {
  cuda_kernel("f", "template <class T> __global__ void f(T* y) { y[0] = 1; }", {cuda_out({1})}, {});  // here
}
