// expect: ^Adam: got calls of dtype i64, expected floats
// expect: hint: state that is not trained is an nn::Buffer
#include <tegula/tegula.h>
using namespace tegula;

namespace {
struct Net {
  nn::Linear one{3, 1};
  Variable calls = zeros({}, i64);
};
}  // namespace

void optimizer_of_integers_state() {
  Net net;
  optim::Adam adam(parameters(net));  // here
}
