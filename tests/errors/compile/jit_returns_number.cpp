// expect: tegula: a jit-ed function returns nothing, a Tensor, or a std::vector, pair, tuple or plain struct of Tensors
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  auto f = jit([](Tensor x) { return x.rank() * 2L; });
  f(ones({3}));  // here
}
