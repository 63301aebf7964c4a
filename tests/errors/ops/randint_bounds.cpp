// expect: ^randint: got bounds 5 and 5, expected low < high
#include "tegula/ops/random.h"

void randint_bounds() {
  tegula::randint(5, 5, {3});  // here
}
