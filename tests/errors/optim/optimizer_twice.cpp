// expect: ^AdamW: got weight twice, expected each parameter once
// expect: hint: .+
#include <tegula/tegula.h>

void optimizer_twice() {
  tegula::nn::Linear layer(2, 1);
  tegula::Parameters list = tegula::parameters(layer);
  list.push_back(list[0]);
  tegula::optim::AdamW optimizer(list);  // here
}
