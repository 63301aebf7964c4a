// expect: padding
// expect: order|declar
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Conv2d conv{3, 8, 3, {.bias = false, .padding = 1}};  // here
}
