// expect: ^Linear: got out_features = -3, expected a positive number
#include <tegula/tegula.h>

void negative_layer_size() {
  tegula::nn::Linear linear{4, -3};  // here
}
