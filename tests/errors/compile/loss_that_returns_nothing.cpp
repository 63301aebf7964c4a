// expect: tegula: a loss is a function of two: .*, or with std::vector<Tensor> for several of them, and gives a Tensor
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{1, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, [](Tensor output, Tensor target) { mse_loss(output, target); });  // here
}
