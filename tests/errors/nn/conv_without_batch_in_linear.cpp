// expect: ^Linear: got an input of shape \(28, 28\), expected 784 features in axis -1
#include <tegula/tegula.h>

void conv_without_batch_in_linear() {
  tegula::nn::Linear fc{784, 10};
  fc(tegula::zeros({28, 28}));  // here
}
