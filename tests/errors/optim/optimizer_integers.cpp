// expect: ^Adam: got count of dtype i64, expected floats
// expect: hint: state that is not trained is an nn::Buffer
#include <tegula/tegula.h>

void optimizer_integers() {
  using namespace tegula;
  struct Net {
    Variable count = zeros({3}, i64);
  } net;
  optim::Adam adam(parameters(net));  // here
}
