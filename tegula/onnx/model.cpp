#include "tegula/onnx/model.h"

#include <algorithm>
#include <unordered_set>

#include "tegula/core/text.h"
#include "tegula/onnx/operators.h"
#include "tegula/onnx/run.h"
#include "tegula/ops/elementwise/int4.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

constexpr std::size_t kMostListed = 20;  // findings in an Error
// Tensors of more numbers of 4 bits are weights: nobody looks at them, and no constants are made of them when shapes are known.
constexpr std::int64_t kMostLooked = 64;

/// The initializers that nodes look at, or use as state.
struct Uses {
  std::unordered_set<std::string> looked, state;
};

void collect(const Graph& graph, Uses& uses) {
  for (const Node& node : graph.nodes) {
    for (const Attribute& one : node.attributes)
      if (one.graph) collect(*one.graph, uses);
    const Operator* op = find_operator(node.domain, node.type);
    for (std::size_t i = 0; op && i < std::min<std::size_t>(node.inputs.size(), 32); ++i) {
      if (op->looked >> i & 1) uses.looked.insert(node.inputs[i]);
      if (op->state >> i & 1) uses.state.insert(node.inputs[i]);
    }
  }
}

/// Makes initializers of constants of 4 bits, which a Model holds packed.
void hoist_int4(Graph& graph) {
  std::erase_if(graph.nodes, [&](const Node& node) {
    const Attribute* const value = node.type == "Constant" && node.domain.empty() ? node.find("value") : nullptr;
    if (!value || !value->tensor || !value->tensor->array.buffer || !is_int4(value->tensor->type) || node.outputs.empty()) return false;
    graph.initializers.push_back(*value->tensor);
    graph.initializers.back().name = node.outputs[0];
    return true;
  });
}

std::string signature_of(const std::vector<Value>& inputs) {
  std::string out;
  for (const Value& one : inputs) {
    out += one.kind == Value::Kind::Sequence ? "[" : "";
    const auto add = [&](const Tensor& x) { out += std::string(name(x.dtype())) + to_string(x.shape()); };
    if (one.kind == Value::Kind::Tensor) add(one.tensor);
    for (const Tensor& item : one.items) add(item);
    out += ';';
  }
  return out;
}

}  // namespace

Model::Model(File file) : folded_(std::make_shared<Folded>()) {
  for (const ValueType* one : required_inputs(file.graph)) inputs_.push_back(*one);
  hoist_int4(file.graph);
  Uses uses;
  collect(file.graph, uses);
  for (StoredArray& one : file.graph.initializers) {
    if (one.array.buffer && is_int4(one.type)) {
      packed_.push_back({one.name, one.type, one.array.shape, packed_int4(one.array)});
      one.array.buffer = {};
    }
    if (!one.array.buffer || !is_float(one.array.dtype) || is_float8(one.array.dtype) || one.array.shape.empty() ||
        uses.looked.contains(one.name))
      continue;
    weights_.push_back({one.name, Variable(from_array(one.array)), !uses.state.contains(one.name)});
    one.array.buffer = {};  // the Variable has it
  }
  file_ = std::make_shared<const File>(std::move(file));
}

void Model::visit(nn::Visitor& visitor, const nn::Path& path) {
  for (Weight& one : weights_) {
    const nn::Path here{&path, one.name};
    if (one.is_trained) visitor.parameter(here, one.value);
    else visitor.buffer(here, one.value);
  }
}

std::vector<Value> Model::run(std::vector<Value> inputs) const {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "onnx", .got = file_->path + ": " + printable(got), .expected = printable(expected)});
  };
  if (inputs.size() != inputs_.size()) refuse(std::to_string(inputs.size()) + " inputs", std::to_string(inputs_.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& wanted = inputs_[i];
    if (inputs[i].kind != Value::Kind::Tensor || wanted.kind != ValueType::Kind::Tensor || !has_dtype(wanted.element)) continue;
    const Tensor& x = inputs[i].tensor;
    if (!x.defined()) refuse("an empty tensor as input " + wanted.name, "a tensor");
    if (x.dtype() != dtype_of(wanted.element))
      refuse("input " + wanted.name + " of " + std::string(name(x.dtype())), name_of(wanted.element));
    if (wanted.element != type_of(x.dtype())) inputs[i].narrow = wanted.element;
    bool fits = !wanted.has_shape || x.rank() == static_cast<int>(wanted.sizes.size());
    for (int axis = 0; fits && wanted.has_shape && axis < x.rank(); ++axis) {
      const std::int64_t size = wanted.sizes[static_cast<std::size_t>(axis)];
      fits = size <= 0 || size == x.size(axis);  // some exporters write 0 for any
    }
    if (!fits) {
      std::string sizes;
      for (std::size_t axis = 0; axis < wanted.sizes.size(); ++axis)
        sizes += (axis ? ", " : "") + (wanted.sizes[axis] > 0         ? std::to_string(wanted.sizes[axis])
                                       : wanted.symbols[axis].empty() ? "?"
                                                                      : wanted.symbols[axis]);
      refuse("input " + wanted.name + " of shape " + to_string(x.shape()), "(" + sizes + ")");
    }
  }
  Names names;
  for (const StoredArray& one : file_->graph.initializers) {
    if (!one.array.buffer) continue;
    Value value(from_array(one.array));
    value.known = true;
    if (one.type != type_of(one.array.dtype)) value.narrow = one.type;
    names.emplace(one.name, std::move(value));
  }
  for (const Packed& one : packed_) {
    const Tensor pairs = unpack_int4(from_array(one.bytes), one.type == Type::Int4 ? Int4::Signed : Int4::Unsigned);
    Value value(reshape(slice(pairs, 0, {0, numel(one.shape)}), one.shape));
    value.known = numel(one.shape) <= kMostLooked, value.narrow = one.type;
    names.emplace(one.name, std::move(value));
  }
  for (const Weight& one : weights_) names.insert_or_assign(one.name, Value(one.value.read()));
  // Values computed from inputs that are known are not the same for all inputs of a signature.
  const bool is_plain = std::ranges::none_of(inputs, &Value::known);
  const std::string signature = signature_of(inputs);
  const std::scoped_lock lock(folded_->mutex);
  return run_graph(*file_, names, std::move(inputs), is_plain ? &folded_->of(signature) : nullptr);
}

std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs) const {
  const std::vector<Value> results = run({inputs.begin(), inputs.end()});
  std::vector<Tensor> out;
  for (const Value& one : results) {
    if (one.kind == Value::Kind::Tensor) out.push_back(one.tensor);
    else out.insert(out.end(), one.items.begin(), one.items.end());
  }
  return out;
}

Tensor Model::operator()(const Tensor& x) const {
  auto out = (*this)(std::vector<Tensor>{x});
  if (out.empty()) throw Error({.op = "onnx", .got = file_->path + ": a model without results", .expected = "one"});
  return out[0];
}

Model load(const std::string& path, const LoadOptions& options) {
  File file = read_file(path);
  if (!options.results.empty()) cut(file, options.results);
  const std::vector<Finding> findings = check(file);
  if (findings.empty()) return Model(std::move(file));
  std::string got = path + ": " + std::to_string(findings.size()) + " things that cannot be built:";
  for (std::size_t i = 0; i < std::min(findings.size(), kMostListed); ++i)
    got += "\n  " + (findings[i].node.empty() ? "" : "node " + findings[i].node + ": ") + findings[i].problem;
  if (findings.size() > kMostListed) got += "\n  …";
  throw Error({.op = "onnx",
               .got = printable(got),
               .expected = "operators, attributes and types that Tegula has",
               .advice = "docs/onnx.md lists them; onnx::check(path) gives all of these"});
}

}  // namespace tegula::onnx
