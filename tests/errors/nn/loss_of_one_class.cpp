// expect: ^cross_entropy: got scores f32\(8, 1\) and labels i64\(8,\), expected at least two classes
// expect: hint: mse_loss compares numbers
#include <tegula/tegula.h>

void loss_of_one_class() {
  const tegula::Tensor loss = tegula::cross_entropy(tegula::ones({8, 1}), tegula::zeros({8}, tegula::i64));  // here
}
