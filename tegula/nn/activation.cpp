#include "tegula/nn/activation.h"

#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"

namespace tegula::nn {

PReLU::PReLU(std::int64_t num_parameters, double init, Line where) {
  In frame("PReLU", where);
  require_positive("PReLU", {{"num_parameters", num_parameters}}, where);
  weight = full({num_parameters}, Arg(init, where), f32);
}

Tensor PReLU::operator()(Arg x) const {
  In frame("PReLU", x.loc);
  return prelu(x, weight);
}

void PReLU::visit(Visitor& visitor, const Path& path) { visit_fields(visitor, path, {{"weight", &weight}}); }

}  // namespace tegula::nn
