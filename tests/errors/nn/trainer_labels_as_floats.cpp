// expect: cross_entropy: got scores f32\(4, 2\) and labels f32\(4,\), expected labels of an integer dtype
// expect: hint: cast\(labels, i64\)
#include <tegula/tegula.h>
using namespace tegula;

void trainer_labels_as_floats() {
  nn::Linear net{3, 2};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .batch = 4});
  trainer.fit(data::ArrayDataset(zeros({8, 3}).to_array(), zeros({8}).to_array()));
}
