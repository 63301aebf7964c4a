// expect: value\.[A-Za-z:]*activation
// expect: tegula: this field cannot be walked, because its type has a constructor or private members
// expect: tegula::nn::kPlain<Type> = true
#include <tegula/tegula.h>

#include <functional>

struct Net {
  tegula::nn::Linear head{2, 3};
  std::function<tegula::Tensor(tegula::Tensor)> activation = [](tegula::Tensor x) { return tegula::relu(x); };
};

int main() {
  Net net;
  tegula::parameters(net);  // here
}
