// expect: einsum: got
#include <tegula/tegula.h>
using namespace tegula;

void einsum_letters() {
  Tensor y = einsum("ij,jk->iz", {ones({2, 3}), ones({3, 4})});  // here
}
