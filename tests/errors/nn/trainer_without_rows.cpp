// expect: ^Trainer::fit: got no rows to train on, expected at least one batch
#include <tegula/tegula.h>
using namespace tegula;

void trainer_without_rows() {
  nn::Linear net{3, 1};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss);
  trainer.fit(data::ArrayDataset(zeros({0, 3}).to_array(), zeros({0, 1}).to_array()));
}
