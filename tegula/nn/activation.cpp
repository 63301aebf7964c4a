#include "tegula/nn/activation.h"

#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/image_axes.h"

namespace tegula::nn {

PReLU::PReLU(std::int64_t num_parameters, const PReLUOptions& options, Line where) : layout_(options.layout) {
  In frame("PReLU", where);
  require_positive("PReLU", {{"num_parameters", num_parameters}}, where);
  weight = full({num_parameters}, Arg(options.init, where), f32);
}

Tensor PReLU::operator()(Arg x) const {
  In frame("PReLU", x.loc);
  const Tensor given = x.tensor("PReLU");
  const int axes = given.rank() - 2;
  return ops::channels_as(prelu(Arg(ops::channels_first(given, axes, layout_, x.loc), x.loc), weight), axes, layout_, x.loc);
}

void PReLU::visit(Visitor& visitor, const Path& path) { visit_fields(visitor, path, {{"weight", &weight}}); }

}  // namespace tegula::nn
