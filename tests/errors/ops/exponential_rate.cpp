// expect: ^exponential: got rate 0, expected a number above 0
#include "tegula/ops/random.h"

void exponential_rate() {
  tegula::exponential({3}, 0);  // here
}
