// expect: ^scan: got carried value 0 as \(2, 6\) f32 \(made at .*scan_carry\.cpp:\d+.*\), expected \(2, 3\) f32, as it is at the start
// expect: hint: cast\(\) or reshape\(\) it in the body, or start with another
#include <tegula/tegula.h>

void scan_carry() {
  using namespace tegula;
  const auto wider = [](const std::vector<Tensor>& carry, const std::vector<Tensor>&) {
    return Scanned{{concat({carry[0], carry[0]}, 1)}, {}};
  };
  scan(wider, {zeros({2, 3})}, {}, {.length = 2});  // here
}
