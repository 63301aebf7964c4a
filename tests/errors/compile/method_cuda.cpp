// expect: tegula: ops are free functions, tensors have no such method: write set_default_device\(cuda\(\)\), once: tensors follow
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  Tensor x = ones({2, 3});
  x = x.cuda();  // here
}
