// expect: ^AdaptiveLogSoftmaxWithLoss: got labels of shape \(4,\) and dtype i64, expected integers of shape \(5,\)
#include <tegula/tegula.h>

void adaptive_softmax_labels() {
  using namespace tegula;
  nn::AdaptiveLogSoftmaxWithLoss layer(64, 100, {10});
  layer(zeros({5, 64}), zeros({4}, i64));  // here
}
