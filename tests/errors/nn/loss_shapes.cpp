// expect: ^mse_loss: got input of shape \(2, 3\) and target of shape \(4,?\), expected equal shapes, or one that broadcasts to the other
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void loss_shapes() {
  tegula::mse_loss(tegula::zeros({2, 3}), tegula::zeros({4}));  // here
}
