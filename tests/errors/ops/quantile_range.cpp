// expect: quantile: got .*1\.5
#include <tegula/tegula.h>
using namespace tegula;

void quantile_range() {
  Tensor y = quantile(ones({5}), 1.5, 0);  // here
}
