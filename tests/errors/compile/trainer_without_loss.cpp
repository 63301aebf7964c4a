// expect: tegula: a Trainer needs to know what it minimises: Trainer\(net, adam, cross_entropy
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, {.epochs = 2});  // here
}
