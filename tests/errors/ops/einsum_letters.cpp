// expect: ^einsum: got letter 'z' in the result for \"ij,jk->iz\", expected letters that an operand has
#include <tegula/tegula.h>
using namespace tegula;

void einsum_letters() {
  Tensor y = einsum("ij,jk->iz", {ones({2, 3}), ones({3, 4})});  // here
}
