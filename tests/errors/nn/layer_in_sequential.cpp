// expect: ^Linear: got an input of shape \(5, 4\), expected 3 features in axis -1
#include <tegula/tegula.h>

void layer_in_sequential() {
  using namespace tegula;
  nn::Sequential net{nn::Linear{2, 4}, relu, nn::Linear{3, 1}};
  Tensor y = net(ones({5, 2}));  // here
}
