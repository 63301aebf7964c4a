// expect: MultiheadAttention: got .*10.*4
#include <tegula/tegula.h>

void heads_that_do_not_divide() {
  tegula::nn::MultiheadAttention attention{10, 4};  // here
}
