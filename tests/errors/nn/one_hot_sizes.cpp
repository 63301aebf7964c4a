// expect: ^OneHot: got classes = 0, expected a positive number
#include <tegula/tegula.h>

void one_hot_sizes() {
  tegula::nn::OneHot one_hot{{3, 0}};  // here
}
