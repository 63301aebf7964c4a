// expect: loss: got 1 outputs and 0 targets
// expect: hint: .*the model gets the first tensors of a batch \(\.inputs\), the loss the others
#include <tegula/tegula.h>
using namespace tegula;

namespace {
struct Net {
  nn::Linear one{3, 1};
  Tensor operator()(Tensor a, Tensor b) { return one(a + b); }
};
}  // namespace

void trainer_model_wants_two() {
  Net net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 4});
  trainer.fit(data::ArrayDataset(zeros({8, 3}).to_array(), zeros({8, 1}).to_array()));
}
