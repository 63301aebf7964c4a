// expect: ^Linear: got an input of shape \(5, 3\), expected 2 features in axis -1
#include <tegula/tegula.h>

void linear_features() {
  using namespace tegula;
  nn::Linear fc{2, 4};
  Tensor y = fc(ones({5, 3}));  // here
}
