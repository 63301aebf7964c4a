// expect: Linear: got an input of shape \(2, 8, 4, 4\), expected 128 features in axis -1
#include <tegula/tegula.h>
using namespace tegula;

void flatten_forgotten() {
  nn::Sequential net{nn::Conv2d{1, 8, 3, {.padding = Same}}, nn::Linear{128, 10}};
  Tensor y = net(zeros({2, 1, 4, 4}));  // here
}
