// expect: save_graph: got the op twofold, expected ops that files know
// expect: hint: an op of one's own is added first: add_formula<formula::Name>\(known_ops\(\)\)
#include <tegula/tegula.h>

#include "tegula/ops/elementwise/elementwise.h"

namespace tegula::formula {
struct Twofold {
  static constexpr OpInfo info{"twofold", "2 * x", Operands::Floats};
  static auto forward(Numeric auto x) { return x * 2.0; }
};
}  // namespace tegula::formula

void graph_of_unknown_op() {
  using namespace tegula;
  const auto f = [](const Tensor& x) {
    return elementwise<formula::Twofold>(Arg(x));  // here
  };
  save_graph("unknown_op.graph", f, ones({3}));
}
