// expect: conv2d: got .*-1
#include <tegula/tegula.h>

void padding_negative() {
  using namespace tegula;
  nn::Conv2d conv{3, 8, 3, {.padding = -1}};
  conv(zeros({1, 3, 8, 8}));  // here
}
