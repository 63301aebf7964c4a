// expect: show_kernel: got a tensor that no kernel of one's own computes, expected the result of a launch
#include <tegula/tile.h>
using namespace tegula;

void show_kernel_none() {
  show_kernel(ones({3}) + 1);  // here
}
