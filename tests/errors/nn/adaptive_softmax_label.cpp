// expect: ^AdaptiveLogSoftmaxWithLoss: got label 100, expected one in \[0, 100\)
#include <tegula/tegula.h>

void adaptive_softmax_label() {
  using namespace tegula;
  nn::AdaptiveLogSoftmaxWithLoss layer(64, 100, {10});
  layer(zeros({2, 64}), tensor<std::int64_t>({3, 100})).loss.item();  // here
}
