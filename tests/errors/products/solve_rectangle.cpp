// expect: ^solve: got shapes \(2, 3\) and \(2, 1\), expected \(…, n, n\)
#include <tegula/tegula.h>
using namespace tegula;

void solve_rectangle() {
  Tensor y = solve(ones({2, 3}), ones({2, 1}));  // here
}
