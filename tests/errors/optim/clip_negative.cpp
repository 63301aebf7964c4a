// expect: ^clip_grad_norm: got max_norm -1, expected at least 0
#include <tegula/tegula.h>
using namespace tegula;

void clip_negative() {
  optim::clip_grad_norm({ones({3})}, -1.0);  // here
}
