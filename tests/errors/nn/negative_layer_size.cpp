// expect: Linear: got .*-3
#include <tegula/tegula.h>

void negative_layer_size() {
  tegula::nn::Linear linear{4, -3};  // here
}
