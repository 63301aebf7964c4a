// expect: ^without: got "head\.\*", which no name in the state fits, expected names such as "weight"
#include <tegula/tegula.h>

void without_name() {
  using namespace tegula;
  nn::Linear net{2, 1};
  without(state_dict(net), {"head.*"});  // here
}
