// expect: ^multinomial: got a weight that is negative, infinite or NaN, expected weights of at least 0
#include <tegula/tegula.h>
using namespace tegula;

void multinomial_negative() {
  multinomial(tensor({0.5f, -0.5f, 1.f}), 1).to_host<std::int64_t>();  // here
}
