// expect: ^update_slice: got a source of shape \(2, 3\) and dtype f32, expected dtype f32 and the shape \(4, 8, 3\), at most as long along axis 1
// expect: hint: cast\(\) and reshape\(\) the source
#include <tegula/tegula.h>

void update_slice_shape() {
  using namespace tegula;
  update_slice(zeros({4, 8, 3}), ones({2, 3}), 0, 1);  // here
}
