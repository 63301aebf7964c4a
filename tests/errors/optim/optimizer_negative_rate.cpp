// expect: ^Adam: got lr = -1, expected a number of at least 0
#include <tegula/tegula.h>

void optimizer_negative_rate() {
  tegula::nn::Linear net(2, 2);
  tegula::optim::Adam adam(tegula::parameters(net), {.lr = -1});  // here
}
