// expect: ^mse_loss: got input of shape \(8,\) and target of shape \(8, 1\), expected equal shapes
// expect: hint: reshape one of them: together they would give \(8, 8\)
#include <tegula/tegula.h>

void loss_that_spreads() {
  const tegula::Tensor loss = tegula::mse_loss(tegula::ones({8}), tegula::ones({8, 1}));  // here
}
