// expect: ^number: got 1e\+30 for dtype i64, expected a number that i64 holds
#include <tegula/tegula.h>

void number_beyond_i64() {
  const tegula::Tensor x = tegula::full({2}, 1e30, tegula::i64);  // here
}
