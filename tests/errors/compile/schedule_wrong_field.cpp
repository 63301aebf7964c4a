// expect: OneCycleLR
// expect: max
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  optim::OneCycleLR schedule{.max = 0.1};  // here
}
