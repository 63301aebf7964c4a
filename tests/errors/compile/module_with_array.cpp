// expect: tegula: a field of this struct is a reference or an array, which cannot be walked
// expect: use std::array
#include <tegula/tegula.h>

struct Net {
  tegula::nn::Linear layers[2]{{1, 2}, {2, 3}};
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
