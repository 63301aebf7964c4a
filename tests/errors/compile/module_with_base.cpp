// expect: tegula: the fields of this type cannot be found, because it has a base class
#include <tegula/tegula.h>

struct Base {
  tegula::nn::Linear stem{1, 2};
};
struct Net : Base {
  tegula::nn::Linear head{2, 3};
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
