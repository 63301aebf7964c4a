// expect: tegula: a jit-ed function returns nothing, a Tensor, a std::vector<Tensor>, or a pair or tuple of Tensors
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  auto f = jit([](Tensor x) { return x.rank() * 2L; });
  f(ones({3}));  // here
}
