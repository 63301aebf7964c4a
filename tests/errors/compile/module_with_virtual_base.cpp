// expect: tegula: the fields of this type cannot be found, because it has
// expect: virtual functions
// expect: static constexpr auto fields = tegula::nn::fields
#include <tegula/tegula.h>

struct Layer {
  virtual tegula::Tensor forward(tegula::Tensor x) = 0;
};
struct Net : Layer {
  tegula::nn::Linear stem{1, 2};
  tegula::Tensor forward(tegula::Tensor x) override { return stem(x); }
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
