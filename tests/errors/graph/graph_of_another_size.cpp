// expect: graph: got tensors f32\(5, 2\), expected f32\(4, 2\), as the function was saved with
// expect: hint: save it once for each size, or cast and reshape before the call
#include <tegula/tegula.h>

void graph_of_another_size() {
  using namespace tegula;
  nn::Linear layer(2, 3);
  save_graph("another_size.graph", layer, ones({4, 2}));
  const GraphFunction f = load_graph("another_size.graph");
  Tensor y = f(ones({5, 2}));  // here
}
