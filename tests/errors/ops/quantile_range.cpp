// expect: ^quantile: got q = 1\.5, expected a number from 0 to 1
#include <tegula/tegula.h>
using namespace tegula;

void quantile_range() {
  Tensor y = quantile(ones({5}), 1.5, 0);  // here
}
