// expect: ^masked_softmax: got a mask of shape \(2, 4\) and dtype bool, expected booleans that broadcast to \(2, 3, 5\)
#include <tegula/tegula.h>

void attention_mask() {
  using namespace tegula;
  nn::AdditiveAttention attention(4, 4, 8);
  attention(zeros({2, 3, 4}), zeros({2, 5, 4}), {}, {.mask = cast(ones({2, 4}), boolean)});  // here
}
