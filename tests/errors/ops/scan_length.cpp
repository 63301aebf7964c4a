// expect: ^scan: got neither xs nor a length, expected one of them to say how many steps there are
// expect: hint: set .length
#include <tegula/tegula.h>

void scan_length() {
  using namespace tegula;
  scan([](const std::vector<Tensor>& carry, const std::vector<Tensor>&) { return Scanned{carry, {}}; }, {zeros({2})}, {});  // here
}
