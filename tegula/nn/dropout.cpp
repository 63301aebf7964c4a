#include "tegula/nn/dropout.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/dropout.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {

detail::AnyDropout::AnyDropout(double p, Generator* generator, std::string_view name, const Line& where) : p(p), generator_(generator) {
  if (p >= 0 && p <= 1) return;
  throw Error(
      {.op = std::string(name), .got = "p = " + number_text(p), .expected = "a probability in [0, 1]", .where = origin_at(where).where});
}

void detail::AnyDropout::visit(Visitor& visitor, const Path& path) { visitor.flag(Path{&path, "training"}, training); }

Dropout::Dropout(double p, Generator* generator, Line where) : AnyDropout(p, generator, "Dropout", where) {}
Tensor Dropout::operator()(Arg x) const {
  In frame("Dropout", x.loc);
  const Tensor input = x.tensor("Dropout");
  if (!split.is(dist::Split::Style::Steps)) return training ? dropout(x, p, generator_) : graph::identity(input, x.loc);
  const Tensor own = split.enter(input, x.loc);
  if (!training || p == 0) return split.leave(graph::identity(own, x.loc), x.loc);
  Shape all = own.shape();
  const std::int64_t steps = all[split.step_axis], begin = steps * split.group.rank();
  all[split.step_axis] *= split.group.size();
  const Tensor factors = dropout(ones(all, own.dtype()), p, generator_);
  return split.leave(own * slice(factors, split.step_axis, {begin, begin + steps}), x.loc);
}

void Dropout::visit(Visitor& visitor, const Path& path) {
  visitor.split(path, split, {});
  AnyDropout::visit(visitor, path);
}

DropoutChannels::DropoutChannels(double p, const DropoutChannelsOptions& options, Line where)
    : AnyDropout(p, options.generator, "Dropout2d", where),
      layout_(options.layout) {}
Tensor DropoutChannels::operator()(Arg x) const {
  In frame("Dropout2d", x.loc);
  return training ? dropout_channels(x, p, generator_, layout_) : graph::identity(x.tensor("Dropout2d"), x.loc);
}

StochasticDepth::StochasticDepth(double p, int axis, Generator* generator, Line where)
    : AnyDropout(p, generator, "StochasticDepth", where),
      axis_(axis) {}
Tensor StochasticDepth::operator()(Arg x) const {
  In frame("StochasticDepth", x.loc);
  return training ? stochastic_depth(x, p, axis_, generator_) : graph::identity(x.tensor("StochasticDepth"), x.loc);
}

AlphaDropout::AlphaDropout(double p, Generator* generator, Line where) : AnyDropout(p, generator, "AlphaDropout", where) {}
Tensor AlphaDropout::operator()(Arg x) const {
  In frame("AlphaDropout", x.loc);
  return training ? alpha_dropout(x, p, generator_) : graph::identity(x.tensor("AlphaDropout"), x.loc);
}

}  // namespace tegula::nn
