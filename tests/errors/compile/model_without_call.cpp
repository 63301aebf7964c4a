// expect: tegula: the model must be callable with one to six Tensors: Tensor operator\(\)\(Tensor x\)
#include <tegula/tegula.h>
using namespace tegula;

struct Net {
  nn::Linear fc{2, 3};
};

int main() {
  Net net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 4});  // here
}
