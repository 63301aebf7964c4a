// Operators of ai.onnx.preview.training and ai.onnx.ml.

#include <algorithm>
#include <set>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// A step of an optimiser for several parameters: inputs are the rate, the number of steps, all X, all G, then all of each state. `update` gets X, the gradient with
/// its weight decay and the states, and gives the new X and states.
template <class F>
Results stepped(const Call& call, std::size_t states, F update) {
  const std::size_t each = states + 2;
  if (call.size() < 2 + each || (call.size() - 2) % each != 0)
    call.refuse(std::to_string(call.size()) + " inputs", "a rate, a step, and " + std::to_string(each) + " for each parameter");
  const std::size_t count = (call.size() - 2) / each;
  const double decay = call.number("norm_coefficient", 0);
  Results out;
  out.resize(count * (states + 1));
  for (std::size_t p = 0; p < count; ++p) {
    const Tensor x = call[2 + p], g = call[2 + count + p] + x * decay;
    std::vector<Tensor> state;
    for (std::size_t s = 0; s < states; ++s) state.push_back(call[2 + (2 + s) * count + p]);
    const std::vector<Tensor> next = update(x, g, state);
    for (std::size_t s = 0; s <= states; ++s) out[s * count + p] = Value(next[s]);
  }
  return out;
}

Results adagrad(const Call& call) {
  const Tensor rate = call[0] / (1 + cast(call[1], f32) * call.number("decay_factor", 0));
  const double eps = call.number("epsilon", 1e-6);
  return stepped(call, 1, [&](const Tensor& x, const Tensor& g, const std::vector<Tensor>& state) {
    const Tensor sums = state[0] + square(g);
    return std::vector<Tensor>{x - rate * g / (sqrt(sums) + eps), sums};
  });
}

Results adam(const Call& call) {
  const double alpha = call.number("alpha", 0.9), beta = call.number("beta", 0.999), eps = call.number("epsilon", 1e-6);
  const Tensor t = cast(call[1], f32);
  const Tensor rate = where(t > 0, call[0] * sqrt(1 - pow(beta, t)) / where(t > 0, 1 - pow(alpha, t), 1.0), call[0]);
  return stepped(call, 2, [&](const Tensor& x, const Tensor& g, const std::vector<Tensor>& state) {
    const Tensor v = state[0] * alpha + g * (1 - alpha), h = state[1] * beta + square(g) * (1 - beta);
    return std::vector<Tensor>{(x - rate * v / (sqrt(h) + eps)) * (1 - call.number("norm_coefficient_post", 0)), v, h};
  });
}

Results momentum(const Call& call) {
  const double alpha = call.number("alpha", 0), beta = call.number("beta", 0);
  const std::string mode = call.text("mode");
  if (mode != "standard" && mode != "nesterov") call.refuse("mode " + mode, "standard or nesterov");
  const Tensor part = where(cast(call[1], f32) > 0, beta, 1.0);
  return stepped(call, 1, [&](const Tensor& x, const Tensor& g, const std::vector<Tensor>& state) {
    const Tensor v = state[0] * alpha + g * part;
    return std::vector<Tensor>{x - call[0] * (mode == "standard" ? v : g + v * alpha), v};
  });
}

/// The nodes of the graph around that make `result` of `given`, in their order.
Graph part_between(const Graph& around, const std::vector<std::string>& given, const std::string& result) {
  Graph out{.name = "gradient", .nodes = {}, .initializers = {}, .inputs = {}, .outputs = {{.name = result}}};
  for (const std::string& one : given) out.inputs.push_back({.name = one});
  std::set<std::string, std::less<>> needed{result};
  for (std::size_t i = around.nodes.size(); i-- > 0;) {
    const Node& node = around.nodes[i];
    const bool makes = std::ranges::any_of(
        node.outputs, [&](const std::string& one) { return needed.contains(one) && std::ranges::find(given, one) == given.end(); });
    if (!makes) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    out.nodes.insert(out.nodes.begin(), node);
  }
  return out;
}

/// The gradients of the graph's value "y" by those named in "xs", at the values that the node is given for these and for "zs", which are held.
Results gradients(const Call& call) {
  std::vector<std::string> given = call.texts("xs");
  const std::size_t count = given.size();
  for (const std::string& one : call.texts("zs")) given.push_back(one);
  if (!call.around() || count == 0 || call.size() != given.size())
    call.refuse(std::to_string(call.size()) + " inputs", "a value for each name of xs and zs, in a graph");
  std::vector<Value> values;
  for (std::size_t i = 0; i < given.size(); ++i) values.emplace_back(graph::identity(call[i], call.where()));
  std::vector<Tensor> xs;
  for (std::size_t i = 0; i < count; ++i) xs.push_back(values[i].tensor);
  const Value y = call.run(part_between(*call.around(), given, call.text("y")), values).at(0);
  if (y.kind != Value::Kind::Tensor) call.refuse("a y that is no tensor", "a tensor");
  return grad(sum(y.tensor), xs);
}

constexpr std::string_view kTraining = "ai.onnx.preview.training", kMl = "ai.onnx.ml";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Adagrad", [](Call& c) -> Results { return adagrad(c); }, "decay_factor epsilon norm_coefficient", 0, 0, false, kTraining},
    {"Adam", [](Call& c) -> Results { return adam(c); }, "alpha beta epsilon norm_coefficient norm_coefficient_post", 0, 0, false, kTraining},
    {"Gradient", [](Call& c) -> Results { return gradients(c); }, "xs zs y", 0, 0, false, kTraining},
    {"Momentum", [](Call& c) -> Results { return momentum(c); }, "alpha beta mode norm_coefficient", 0, 0, false, kTraining},
    {"Binarizer", [](Call& c) -> Results { return cast(c[0] > c.number("threshold", 0), c[0].dtype()); }, "threshold", 0, 0, false, kMl},
    {"ArrayFeatureExtractor", [](Call& c) -> Results { return take(c[0], flatten(c[1]), -1); }, "", 0, 0, false, kMl},
};
// clang-format on

}  // namespace

Operators other_operators() { return kOperators; }

}  // namespace tegula::onnx
