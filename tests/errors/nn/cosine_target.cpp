// expect: ^cosine_embedding_loss: got a target of 0.5, expected -1 or 1
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/loss.h"

void cosine_target() {
  const tegula::Tensor a = tegula::ones({2, 3});
  const tegula::Tensor loss = tegula::cosine_embedding_loss(a, a, tegula::tensor({1.f, 0.5f}));  // here
  loss.item();
}
