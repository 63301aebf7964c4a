// expect: ^Adam: got no parameters, expected at least one
#include <tegula/tegula.h>

void optimizer_nothing() {
  tegula::optim::Adam adam({});  // here
}
