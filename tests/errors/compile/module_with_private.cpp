// expect: tegula: the fields of this type cannot be found, because it has a constructor or private members
// expect: static constexpr auto fields = tegula::nn::fields
#include <tegula/tegula.h>
using namespace tegula;

class Net {
  nn::Linear fc{2, 3};

 public:
  Tensor operator()(Tensor x) { return fc(x); }
};

int main() {
  Net net;
  parameters(net);  // here
}
