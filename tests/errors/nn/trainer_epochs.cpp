// expect: ^Trainer: got -1 epochs, batches of 2, clip_norm 0, expected none of them negative
#include <tegula/tegula.h>
using namespace tegula;

void trainer_epochs() {
  nn::Linear net{3, 1};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = -1, .batch = 2});
  trainer.fit(data::ArrayDataset(ones({4, 3}).to_array(), ones({4, 1}).to_array()));
}
