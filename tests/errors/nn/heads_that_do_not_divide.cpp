// expect: ^MultiheadAttention: got embed_dim 10 and num_heads 4, expected a width that the heads divide
#include <tegula/tegula.h>

void heads_that_do_not_divide() {
  tegula::nn::MultiheadAttention attention{10, 4};  // here
}
