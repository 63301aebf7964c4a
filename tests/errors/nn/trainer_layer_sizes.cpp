// expect: Linear: got an input of shape \(16, 32\), expected 30 features in axis -1
#include <tegula/tegula.h>
using namespace tegula;

namespace {
struct Net {
  nn::Linear hidden{30, 4};
  Tensor operator()(Tensor x) { return hidden(x); }  // here
};
}  // namespace

void trainer_layer_sizes() {
  Net net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 16});
  trainer.fit(data::ArrayDataset(zeros({32, 32}).to_array(), zeros({32, 4}).to_array()));
}
