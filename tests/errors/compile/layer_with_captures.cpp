// expect: a lambda with captures
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear hidden{2, 2};
  nn::Sequential net{[&](Tensor x) { return hidden(x); }};  // here
}
