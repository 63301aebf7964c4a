// expect: Adam: got .*i64
// expect: nn::Buffer
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
