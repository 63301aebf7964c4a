// expect: value\.[A-Za-z:]*parent
// expect: tegula: this field is a plain pointer to a module, which is not walked
#include <tegula/tegula.h>

struct Net {
  tegula::nn::Linear head{2, 3};
  Net* parent = nullptr;
};

int main() {
  Net net;
  tegula::train(net);  // here
}
