// expect: tegula: a jit-ed function takes a Tensor for each argument of the call
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  auto f = jit([](Tensor x, int n) { return x * float(n); });
  f(ones({3}), 2);  // here
}
