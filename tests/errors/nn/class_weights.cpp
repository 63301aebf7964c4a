// expect: ^cross_entropy: got class weights of shape \(4,\), expected shape \(3,\)
#include <tegula/tegula.h>

void class_weights() {
  using namespace tegula;
  Tensor loss = cross_entropy(zeros({2, 3}), zeros({2}, i64), {.weight = ones({4})});  // here
}
