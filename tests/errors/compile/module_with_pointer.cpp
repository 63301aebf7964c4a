// expect: value\.[A-Za-z:]*shared
// expect: tegula: this field is a plain pointer to a module, which is not walked
// expect: std::unique_ptr
#include <tegula/tegula.h>

struct Net {
  tegula::nn::Linear head{2, 3};
  tegula::nn::Linear* shared = nullptr;
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
