// expect: tegula: the fields of this type cannot be found, because it has a constructor or private members
// expect: static constexpr auto fields = tegula::nn::fields
#include <tegula/tegula.h>

class Net {
 public:
  explicit Net(int width) : head(2, width) {}
  tegula::nn::Linear head;
};

int main() {
  Net net(3);
  tegula::parameters(net);  // here
}
