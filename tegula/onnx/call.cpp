#include "tegula/onnx/call.h"

#include "tegula/graph/trace.h"

namespace tegula::onnx {

const Value& Call::value(std::size_t i) const {
  if (has(i)) return inputs_[i];
  refuse("no input " + std::to_string(i), "one");
}

const Tensor& Call::operator[](std::size_t i) const {
  const Value& found = value(i);
  if (found.kind != Value::Kind::Tensor) refuse("a sequence as input " + std::to_string(i), "a tensor");
  return found.tensor;
}

std::vector<Tensor> Call::tensors() const {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < inputs_.size(); ++i) out.push_back((*this)[i]);
  return out;
}

bool Call::is_known(std::size_t i) const { return value(i).known || !Trace::current(); }

HostArray Call::look(const Value& value, const std::string& what) const {
  if (value.kind != Value::Kind::Tensor) refuse(what + ", which is no tensor", "a tensor");
  if (!value.known) {
    if (Trace::current())
      refuse(what + ", which depends on values", "one that is known when the function is traced: a constant, or computed from shapes",
             "call the model without jit, where values can be looked at");
    looks_at_values_ = true;
  }
  return value.tensor.to_array(where_);
}

HostArray Call::look(std::size_t i) const { return look(value(i), "input " + std::to_string(i) + " (" + node_.inputs[i] + ")"); }

namespace {

template <class T>
std::vector<T> values_of(const HostArray& array) {
  std::vector<T> out(static_cast<std::size_t>(array.size()));
  visit(array.dtype, [&](auto zero) {
    const auto values = array.values<decltype(zero)>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_integral_v<T> && std::is_integral_v<decltype(zero)>) out[i] = static_cast<T>(values[i]);
      else out[i] = from_double<T>(as_double(values[i]));
    }
  });
  return out;
}

}  // namespace

std::vector<std::int64_t> Call::integers(std::size_t i) const {
  if (is_float((*this)[i].dtype())) refuse("input " + std::to_string(i) + " of " + std::string(name((*this)[i].dtype())), "whole numbers");
  return values_of<std::int64_t>(look(i));
}

std::vector<double> Call::numbers(std::size_t i) const { return values_of<double>(look(i)); }

std::int64_t Call::integer(std::size_t i) const {
  const auto values = integers(i);
  if (values.size() != 1) refuse("input " + std::to_string(i) + " of " + std::to_string(values.size()) + " elements", "one");
  return values[0];
}

double Call::number(std::size_t i) const {
  const auto values = numbers(i);
  if (values.size() != 1) refuse("input " + std::to_string(i) + " of " + std::to_string(values.size()) + " elements", "one");
  return values[0];
}

const Attribute& Call::expect(const Attribute& found, Attribute::Kind kind) const {
  if (found.kind != kind && found.kind != Attribute::Kind::Undefined)
    refuse("the attribute " + found.name + " of another type", "the type that " + node_.type + " has it of");
  return found;
}

std::int64_t Call::integer(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* found = node_.find(attribute);
  return found ? expect(*found, Attribute::Kind::Int).integer : otherwise;
}

double Call::number(std::string_view attribute, double otherwise) const {
  const Attribute* found = node_.find(attribute);
  return found ? static_cast<double>(expect(*found, Attribute::Kind::Float).number) : otherwise;
}

std::string Call::text(std::string_view attribute, std::string_view otherwise) const {
  const Attribute* found = node_.find(attribute);
  return found ? expect(*found, Attribute::Kind::String).text : std::string(otherwise);
}

std::vector<std::int64_t> Call::integers(std::string_view attribute, std::vector<std::int64_t> otherwise) const {
  const Attribute* found = node_.find(attribute);
  return found ? expect(*found, Attribute::Kind::Ints).integers : otherwise;
}

std::vector<float> Call::numbers(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  return found ? expect(*found, Attribute::Kind::Floats).numbers : std::vector<float>();
}

std::vector<std::string> Call::texts(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  return found ? expect(*found, Attribute::Kind::Strings).texts : std::vector<std::string>();
}

const StoredArray* Call::array(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  return found ? found->tensor.get() : nullptr;
}

const Graph& Call::graph(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  if (!found || !found->graph) refuse("no graph " + std::string(attribute), "one");
  return *found->graph;
}

int Call::axis(std::int64_t axis, int rank) const {
  const auto found = normalize_axis(axis, rank);
  if (!found) refuse("axis " + std::to_string(axis), "one of a tensor with " + std::to_string(rank) + " axes");
  return *found;
}

std::optional<std::vector<std::int64_t>> Call::axes(std::string_view attribute, std::size_t i) const {
  if (has(attribute)) return integers(attribute);
  if (has(i)) return integers(i);
  return std::nullopt;
}

void Call::refuse(std::string got, std::string expected, std::string advice) const {
  throw Error({.op = node_.type, .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where_});
}

Tensor constant(const HostArray& array) { return from_array(array); }

Tensor constant(const std::vector<std::int64_t>& values) {
  return tegula::tensor(std::span<const std::int64_t>(values), Shape{static_cast<std::int64_t>(values.size())});
}

Dims dims_of(const Call& call, const std::vector<std::int64_t>& values) {
  if (values.size() > static_cast<std::size_t>(kMaxRank))
    call.refuse(std::to_string(values.size()) + " axes", "at most " + std::to_string(kMaxRank));
  return Dims(std::span<const std::int64_t>(values));
}

}  // namespace tegula::onnx
