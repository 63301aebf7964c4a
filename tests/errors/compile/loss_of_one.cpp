// expect: tegula: a loss is a function of two: Tensor \(Tensor output, Tensor target\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{1, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, [](Tensor output) { return mean(output); });  // here
}
