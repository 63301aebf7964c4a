// expect: ^masked_softmax: got lengths of shape \(3,\) and dtype i64, expected integers of shape \(2,\)
#include <tegula/tegula.h>

void attention_lengths() {
  using namespace tegula;
  nn::GeneralAttention attention(4, 4);
  attention(zeros({2, 3, 4}), zeros({2, 5, 4}), {}, {.lengths = ones({3}, i64)});  // here
}
