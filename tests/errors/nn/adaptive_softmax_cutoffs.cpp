// expect: ^AdaptiveLogSoftmaxWithLoss: got cutoffs 10, 10, expected rising numbers from 1 to 99
#include <tegula/tegula.h>

void adaptive_softmax_cutoffs() {
  tegula::nn::AdaptiveLogSoftmaxWithLoss(64, 100, {10, 10});  // here
}
