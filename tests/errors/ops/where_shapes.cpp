// expect: ^where: got shapes \(5,\), \(2, 3\) and \(\), expected shapes that broadcast: sizes equal or 1, counted from the last axis
// expect: hint: reshape one of them so that the axes line up
#include <tegula/tegula.h>

void where_shapes() {
  using namespace tegula;
  const Tensor mask = full({5}, true), a = zeros({2, 3});
  Tensor c = where(mask, a, 0);  // here
}
