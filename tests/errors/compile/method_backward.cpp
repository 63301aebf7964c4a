// expect: write auto gradients = grad\(loss, parameters\(net\)\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  mean(net(ones({4, 2}))).backward();  // here
}
