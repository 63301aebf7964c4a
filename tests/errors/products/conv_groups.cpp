// expect: ^Conv2d: got 3 and 4 channels in 2 groups, expected groups to divide both
#include <tegula/tegula.h>

void conv_groups() {
  tegula::nn::Conv2d conv{3, 4, 3, {.groups = 2}};  // here
}
