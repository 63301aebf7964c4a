// expect: ^models: got the name "resnet-1000", expected one of mnist-mlp, mnist-cnn, lenet5
#include <tegula/tegula.h>
#include "tegula/models/registry.h"

void unknown_model() {
  using namespace tegula;
  models::make("resnet-1000");
}
