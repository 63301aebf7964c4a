// expect: ^cross_entropy: got label 10, expected one in \[0, 10\)
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void wrong_label() {
  const tegula::Tensor labels = tegula::full({2}, 10);
  const tegula::Tensor loss = tegula::cross_entropy(tegula::zeros({2, 10}), labels);  // here
  loss.item();
}
