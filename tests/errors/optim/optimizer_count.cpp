// expect: ^Adam: got 1 gradients, expected one for each of the 2 parameters
// expect: hint: step\(grad\(loss, parameters\(net\)\)\)
#include <tegula/tegula.h>

void optimizer_count() {
  using namespace tegula;
  nn::Linear fc{3, 2};
  optim::Adam adam(parameters(fc));
  adam.step({ones({2, 3})});  // here
}
