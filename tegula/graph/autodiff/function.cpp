// Functions with gradients of their own.

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

std::vector<Tensor> tensors(std::span<const Ref<Node>> nodes) {
  std::vector<Tensor> out;
  for (const auto& node : nodes) out.emplace_back(node);
  return out;
}

/// Input 0, unchanged; the others stand for what it was computed from.
class CustomOp final : public ViewOp {
 public:
  std::optional<Layout> apply(const Layout& input) const override { return input; }
  CustomOp(std::string name, Vjp vjp) : name_(std::move(name)), vjp_(std::move(vjp)) {}
  std::string_view name() const override { return name_; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
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

 private:
  std::string name_;
  Vjp vjp_;
};

}  // namespace

Tensor custom_function(std::string name, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs, Line where) {
  std::vector<Tensor> hidden;
  for (const auto& input : inputs) hidden.push_back(graph::stop_gradient(input, where));
  std::vector<Tensor> all{f(hidden)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  return make_node(Ref<const Op>(new CustomOp(std::move(name), vjp)), all, all[0].shape(where), all[0].dtype(), where);
}

}  // namespace tegula
