// expect: tegula: a field of this struct is a reference or an array, which cannot be walked
#include <tegula/tegula.h>

struct Net {
  tegula::nn::Linear& shared;
  tegula::nn::Linear head{2, 3};
};

int main() {
  tegula::nn::Linear shared{2, 2};
  Net net{shared};
  tegula::parameters(net);  // here
}
