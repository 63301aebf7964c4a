// expect: ^safetensors: got gone\.safetensors: No such file or directory, expected a readable file
// expect: hint: check the path
#include <tegula/tegula.h>
using namespace tegula;

void resume_missing() {
  nn::Linear net{3, 1};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 4});
  trainer.resume("gone.safetensors");
  trainer.fit(data::ArrayDataset(zeros({8, 3}).to_array(), zeros({8, 1}).to_array()));
}
