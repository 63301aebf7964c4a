// expect: ^load: got nothing for head.bias; unknown names tail.bias; other shapes: head.weight \(3, 2\) for \(2, 3\), expected the names and shapes of the module
// expect: hint: is this the state of another network\?
#include <tegula/tegula.h>

void load_other_network() {
  using namespace tegula;
  struct Net {
    nn::Linear head{3, 2};
  } net;
  load(net, {{"head.weight", ones({3, 2})}, {"tail.bias", ones({3})}});  // here
}
