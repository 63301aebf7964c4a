// expect: ^SGD: got a gradient of shape \(3, 2\) for weight, expected its shape \(2, 3\)
#include <tegula/tegula.h>

void optimizer_gradients() {
  using namespace tegula;
  nn::Linear fc{3, 2, {.bias = false}};
  optim::SGD sgd(parameters(fc));
  sgd.step({ones({3, 2})});  // here
}
