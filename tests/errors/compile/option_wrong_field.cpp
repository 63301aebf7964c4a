// expect: ConvOptions
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Conv2d conv{3, 8, 3, {.pad = 1}};  // here
}
