// expect: tegula: a loss is a function, not its name: cross_entropy
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, "mse", {.epochs = 2});  // here
}
