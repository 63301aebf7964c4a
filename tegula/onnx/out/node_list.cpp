#include "tegula/onnx/out/node_list.h"

#include <algorithm>
#include <utility>

namespace tegula::onnx {
namespace {

constexpr std::size_t kMostShared = 4096;  // bytes of constants that are looked up among those that are there

Attribute named(std::string name, Attribute::Kind kind) {
  Attribute out;
  out.name = std::move(name);
  out.kind = kind;
  return out;
}

}  // namespace

Attribute attribute(std::string name, std::int64_t value) {
  Attribute out = named(std::move(name), Attribute::Kind::Int);
  out.integer = value;
  return out;
}
Attribute attribute(std::string name, std::vector<std::int64_t> values) {
  Attribute out = named(std::move(name), Attribute::Kind::Ints);
  out.integers = std::move(values);
  return out;
}
Attribute attribute(std::string name, float value) {
  Attribute out = named(std::move(name), Attribute::Kind::Float);
  out.number = value;
  return out;
}
Attribute attribute(std::string name, std::string text) {
  Attribute out = named(std::move(name), Attribute::Kind::String);
  out.text = std::move(text);
  return out;
}
Attribute attribute(std::string name, Graph graph) {
  Attribute out = named(std::move(name), Attribute::Kind::Graph);
  out.graph = std::make_shared<const Graph>(std::move(graph));
  return out;
}

std::string Sheet::name(const std::string& stem) {
  std::string out = stem;
  while (!names.insert(out).second) out = stem + "_" + std::to_string(numbered++);
  return out;
}

std::vector<std::string> NodeList::add_several(const std::string& type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                                               std::size_t results) {
  Node node;
  node.type = type;
  node.name = sheet_.name(path_.empty() ? type : path_ + "/" + type);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < results; ++i) node.outputs.push_back(sheet_.name(node.name + "_out"));
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::string NodeList::add(const std::string& type, std::vector<std::string> inputs, std::vector<Attribute> attributes) {
  return add_several(type, std::move(inputs), std::move(attributes), 1)[0];
}

std::string NodeList::constant(const HostArray& array, Type type) {
  if (sheet_.outermost != this) return sheet_.outermost->constant(array, type);
  std::string key;
  if (array.bytes() <= kMostShared) {
    key = name_of(type) + to_string(array.shape) + ":";
    if (array.bytes() > 0) key.append(static_cast<const char*>(array.buffer->data()), array.bytes());
    if (const auto found = sheet_.constants.find(key); found != sheet_.constants.end()) return found->second;
  }
  Attribute value = named("value", Attribute::Kind::Tensor);
  value.tensor = std::make_shared<const StoredArray>(StoredArray{"", type, array});
  const std::string before = std::exchange(path_, "");
  std::string out = add("Constant", {}, {std::move(value)});
  path_ = before;
  if (!key.empty()) sheet_.constants.emplace(std::move(key), out);
  return out;
}

std::shared_ptr<const StoredArray> NodeList::constant_of(const std::string& value) const {
  for (const Node& node : sheet_.outermost->nodes_)
    if (node.type == "Constant" && node.outputs[0] == value) return node.attributes[0].tensor;
  return nullptr;
}

std::string NodeList::integers(const std::vector<std::int64_t>& values) {
  return constant(HostArray::from(std::span(values), {std::ssize(values)}));
}
std::string NodeList::integer(std::int64_t value) { return constant(HostArray::from(std::span<const std::int64_t>(&value, 1), {})); }
std::string NodeList::number(const Number& value, DType dtype) { return filled({}, value, dtype); }

std::string NodeList::filled(const Shape& shape, const Number& value, DType dtype) {
  const HostArray out = HostArray::empty(dtype, shape);
  visit(dtype, [&](auto zero) { std::ranges::fill(out.values<decltype(zero)>(), value.as<decltype(zero)>()); });
  return constant(out);
}

std::string NodeList::cast(const std::string& x, DType dtype) {
  return add("Cast", {x}, {attribute("to", static_cast<std::int64_t>(type_of(dtype)))});
}

std::string NodeList::size(const Size& size) {
  if (sheet_.outermost != this) return sheet_.outermost->size(size);
  if (size.is_constant()) return integers({size.plus});
  std::string out;
  for (std::size_t k = 0; k < sheet_.axes.size(); ++k) {
    if (!(size.of >> k & 1)) continue;
    Sheet::OpenAxis& axis = sheet_.axes[k];
    if (axis.size.empty()) axis.size = add("Shape", {axis.input}, {attribute("start", axis.axis), attribute("end", axis.axis + 1)});
    out = out.empty() ? axis.size : add("Mul", {out, axis.size});
  }
  if (size.factor != 1) out = add("Mul", {out, integers({size.factor})});
  return size.plus == 0 ? out : add("Add", {out, integers({size.plus})});
}

std::string NodeList::sizes(const Sizes& sizes) {
  if (sheet_.outermost != this) return sheet_.outermost->sizes(sizes);
  std::vector<std::string> parts;
  std::vector<std::int64_t> run;
  const auto close = [&] {
    if (!run.empty()) parts.push_back(integers(std::exchange(run, {})));
  };
  for (const Size& one : sizes) {
    if (one.is_constant()) {
      run.push_back(one.plus);
      continue;
    }
    close();
    parts.push_back(size(one));
  }
  close();
  if (parts.empty()) return integers({});
  return parts.size() == 1 ? parts[0] : add("Concat", parts, {attribute("axis", std::int64_t{0})});
}

std::string NodeList::reshape(const std::string& x, const Sizes& to) {
  const auto open = std::ranges::count_if(to, [](const Size& one) { return !one.is_constant(); });
  const bool is_empty = std::ranges::any_of(to, [](const Size& one) { return one == Size(0); });
  if (is_empty) return add("Reshape", {x, sizes(to)}, {attribute("allowzero", std::int64_t{1})});
  if (open > 1) return add("Reshape", {x, sizes(to)});
  std::vector<std::int64_t> values;
  for (const Size& one : to) values.push_back(one.is_constant() ? one.plus : -1);
  return reshape(x, values);
}

std::string NodeList::reshape(const std::string& x, const std::vector<std::int64_t>& to) { return add("Reshape", {x, integers(to)}); }

std::string NodeList::transpose(const std::string& x, const std::vector<std::int64_t>& order) {
  return add("Transpose", {x}, {attribute("perm", order)});
}

std::string NodeList::reduce(const std::string& type, const std::string& x, const std::vector<std::int64_t>& axes, bool keeps) {
  const std::vector<Attribute> all{attribute("keepdims", std::int64_t{keeps})};
  // Axes are an input of ReduceSum from operator set 13 on, of the others from 18 on.
  if (type == "ReduceSum" || opset() >= 18) return add(type, {x, integers(axes)}, all);
  return add(type, {x}, {all[0], attribute("axes", axes)});
}

}  // namespace tegula::onnx
