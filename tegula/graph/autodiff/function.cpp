// Functions with gradients of their own.

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

std::vector<Tensor> tensors(std::span<const Ref<Node>> nodes) {
  std::vector<Tensor> out;
  for (const auto& node : nodes) out.emplace_back(node);
  return out;
}

}  // namespace

std::vector<Tensor> CustomOp::gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const {
  const auto inputs = tensors(y.inputs().subspan(1));
  auto parts = vjp_(inputs, Tensor(Ref<Node>(const_cast<Node*>(&y))), dy);
  if (parts.size() != inputs.size()) {
    throw Error({.op = name_,
                 .got = std::to_string(parts.size()) + " gradients from its vjp",
                 .expected = std::to_string(inputs.size()) + ", one for each input",
                 .advice = "an empty Tensor means none flows",
                 .where = y.origin().where});
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (wanted[i + 1] && parts[i].defined() && parts[i].shape() != inputs[i].shape()) {
      throw Error({.op = name_,
                   .got = "a gradient of shape " + to_string(parts[i].shape()) + " for input " + std::to_string(i),
                   .expected = "the input's shape " + to_string(inputs[i].shape()),
                   .where = y.origin().where});
    }
  }
  parts.insert(parts.begin(), Tensor());
  return parts;
}

Tensor custom_function(std::string name, NamedOptions options, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs,
                       Line where) {
  std::vector<Tensor> hidden;
  for (const auto& input : inputs) hidden.push_back(graph::stop_gradient(input, where));
  std::vector<Tensor> all{f(hidden)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  return make_node(make<const CustomOp>(std::move(name), std::move(options), vjp), all, all[0].shape(where), all[0].dtype(), where);
}

Tensor custom_function(std::string name, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs, Line where) {
  return custom_function(std::move(name), {}, f, vjp, inputs, where);
}

}  // namespace tegula
