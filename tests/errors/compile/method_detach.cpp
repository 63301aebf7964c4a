// expect: tegula: ops are free functions, tensors have no such method: write stop_gradient\(x\)
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  Tensor x = ones({2, 3});
  x = x.detach();  // here
}
