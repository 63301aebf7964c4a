// expect: tegula: gradients are values, there is nothing to zero
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::Adam adam(parameters(net));
  adam.zero_grad();  // here
}
