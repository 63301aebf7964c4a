// expect: ^tensor: got a row of 1 numbers behind one of 2, expected rows of one length
#include <tegula/tegula.h>

void tensor_rows() {
  tegula::tensor({{1.f, 2.f}, {3.f}});  // here
}
