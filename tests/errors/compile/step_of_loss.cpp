// expect: tegula: a step takes gradients: adam\.step\(grad\(loss, parameters\(net\)\)\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::Adam adam(parameters(net));
  adam.step(mean(net(ones({4, 2}))));  // here
}
