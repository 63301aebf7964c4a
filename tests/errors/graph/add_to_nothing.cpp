// expect: ^add: got an empty tensor, expected one with a value
#include <tegula/tegula.h>

void add_to_nothing() {
  tegula::Tensor t;
  const tegula::Tensor y = t + 1;  // here
}
