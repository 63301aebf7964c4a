// expect: ^scan: got carried value 0 as \(2, 4\) f32 \(made at .*scan_carry\.cpp:\d+.*\), expected \(2, 3\) f32, as it is at the start
// expect: hint: cast\(\) or reshape\(\) it in the body, or start with another
#include <tegula/tegula.h>

void scan_carry() {
  using namespace tegula;
  scan([](const std::vector<Tensor>& carry, const std::vector<Tensor>&) { return Scanned{{concat({carry[0], ones({2, 1})}, 1)}, {}}; },
       {zeros({2, 3})}, {}, {.length = 2});  // here
}
