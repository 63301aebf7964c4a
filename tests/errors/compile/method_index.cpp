// expect: tegula: tensors have no \[ \]: write select\(x, axis, index\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  Tensor x = ones({2, 3});
  Tensor first = x[0];  // here
}
