// expect: ^dynamic_slice: got a slice of 9 along axis 1 of shape \(4, 8\), expected a size from 0 to 8
#include <tegula/tegula.h>

void dynamic_slice_size() {
  using namespace tegula;
  dynamic_slice(zeros({4, 8}), 0, 9, 1);  // here
}
