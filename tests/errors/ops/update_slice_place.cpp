// expect: ^update_slice: got 3 elements from 6 on along axis 1 of size 8, expected them to begin in \[-8, 5\]
#include <tegula/tegula.h>

void update_slice_place() {
  using namespace tegula;
  eval(update_slice(zeros({4, 8}), ones({4, 3}), tensor({std::int64_t{6}}), 1));  // here
}
