// expect: tegula: ops are free functions, tensors have no such method: write relu\(x\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  Variable w = ones({2, 3});
  Tensor y = w.relu();  // here
}
