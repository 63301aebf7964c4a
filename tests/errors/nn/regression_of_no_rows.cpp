// expect: ^mse_loss: got a batch of no rows: losses of shape \(0, 1\)
// expect: hint: .*LossReduction::Sum
#include <tegula/tegula.h>
using namespace tegula;

void regression_of_no_rows() {
  Tensor loss = mse_loss(zeros({0, 1}), zeros({0, 1}));  // here
}
