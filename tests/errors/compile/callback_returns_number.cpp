// expect: tegula: a callback returns nothing, or Go::On or Go::Stop
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 3};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 4});
  trainer.on_step = [](const StepReport&) { return 1; };  // here
}
