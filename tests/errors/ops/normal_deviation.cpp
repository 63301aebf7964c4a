// expect: ^normal: got deviation -1, expected a number of at least 0
#include "tegula/ops/random.h"

void normal_deviation() {
  tegula::normal({3}, 0, -1);  // here
}
