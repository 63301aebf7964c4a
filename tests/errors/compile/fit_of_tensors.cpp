// expect: tegula: what is trained on is a data set, inputs and targets together: data::ArrayDataset\(x, y\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::SGD sgd(parameters(net));
  Trainer trainer(net, sgd, mse_loss);
  trainer.fit(ones({4, 2}));  // here
}
