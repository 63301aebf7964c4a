// expect: ^uniform: got bounds 1 and 0, expected finite numbers, low <= high
#include "tegula/ops/random.h"

void uniform_bounds() {
  tegula::uniform({3}, 1, 0);  // here
}
