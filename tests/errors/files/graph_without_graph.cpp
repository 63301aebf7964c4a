// expect: load_graph: got .*weights.safetensors: a safetensors file without a graph, expected one that save_graph has written
// expect: hint: load\(net, path\) reads the weights of a module
#include <tegula/tegula.h>

void graph_without_graph() {
  using namespace tegula;
  nn::Linear layer(2, 3);
  save(layer, "weights.safetensors");
  const GraphFunction f = load_graph("weights.safetensors");
}
