// expect: tegula: ops are free functions, tensors have no such method: write reshape\(x, {2, -1}\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  Tensor x = ones({2, 3});
  Tensor y = x.reshape({3, 2});  // here
}
