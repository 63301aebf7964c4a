// expect: ^parameters: got the same cell as encoder.weight and as decoder.weight, expected each under one name
// expect: hint: to tie weights, keep one field and use it twice
#include <tegula/tegula.h>

namespace {
struct Shared {
  tegula::nn::Linear* layer;
  void visit(tegula::nn::Visitor& visitor, const tegula::nn::Path& path) { layer->visit(visitor, path); }
};
struct Net {
  Shared encoder, decoder;
};
}  // namespace

void tied_parameters() {
  tegula::nn::Linear layer{2, 2};
  Net net{{&layer}, {&layer}};
  tegula::parameters(net);
}
