// Sequences and optionals: lists of tensors whose length is known when the graph is built.

#include <algorithm>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

const std::vector<Tensor>& items_of(const Call& call, std::size_t i) {
  const Value& value = call.value(i);
  if (value.kind != Value::Kind::Sequence) call.refuse("a tensor as input " + std::to_string(i), "a sequence");
  return value.items;
}

/// A place in a sequence, from the end where negative; `size` itself where `with_end`.
std::size_t place_of(const Call& call, std::size_t i, std::size_t size, bool with_end) {
  const std::int64_t count = static_cast<std::int64_t>(size), given = call.integer(i), at = given < 0 ? given + count : given;
  if (at < 0 || at > count || (at == count && !with_end))
    call.refuse("place " + std::to_string(given), "one in a sequence of " + std::to_string(count));
  return static_cast<std::size_t>(at);
}

Results inserted(const Call& call) {
  std::vector<Tensor> items = items_of(call, 0);
  const std::size_t at = call.has(2) ? place_of(call, 2, items.size(), true) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), call[1]);
  return Value::sequence(std::move(items));
}

Results erased(const Call& call) {
  std::vector<Tensor> items = items_of(call, 0);
  if (items.empty()) call.refuse("an empty sequence", "one with elements");
  const std::size_t at = call.has(1) ? place_of(call, 1, items.size(), false) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return Value::sequence(std::move(items));
}

Results length(const Call& call) {
  Value out{tegula::Tensor(static_cast<std::int64_t>(items_of(call, 0).size()))};
  out.known = true;
  return out;
}

Results parted(const Call& call) {
  const Tensor x = call[0];
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  if (!call.has(1)) {
    std::vector<Tensor> parts = split(x, 1, axis);
    if (!call.flag("keepdims", true))
      for (Tensor& part : parts) part = squeeze(part, axis);
    return Value::sequence(std::move(parts));
  }
  const auto sizes = call.integers(1);
  if (call[1].rank() == 0) {
    if (sizes[0] < 1) call.refuse("parts of " + std::to_string(sizes[0]), "at least 1");
    return Value::sequence(split(x, sizes[0], axis));
  }
  return Value::sequence(split(x, sizes, axis));
}

Results joined(const Call& call) {
  const std::vector<Tensor>& items = items_of(call, 0);
  if (items.empty()) call.refuse("an empty sequence", "one with elements");
  const bool is_new = call.flag("new_axis");
  const int axis = call.axis(call.integer("axis", 0), items[0].rank() + (is_new ? 1 : 0));
  return is_new ? stack(items, axis) : concat(items, axis);
}

/// The body on each element of the first sequence, and of the other ones; tensors are the same for all.
Results mapped(const Call& call) {
  const Graph& body = call.graph("body");
  std::vector<std::vector<Tensor>> out(body.outputs.size());
  for (std::size_t k = 0; k < items_of(call, 0).size(); ++k) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < call.size(); ++i) {
      const Value& one = call.value(i);
      if (one.kind == Value::Kind::Sequence && k >= one.items.size()) call.refuse("sequences of different lengths", "of one length");
      inputs.push_back(one.kind == Value::Kind::Sequence ? Value(one.items[k]) : one);
    }
    const auto results = call.run(body, std::move(inputs));
    for (std::size_t i = 0; i < results.size(); ++i) out[i].push_back(results[i].tensor);
  }
  Results all;
  for (auto& items : out) all.push_back(Value::sequence(std::move(items)));
  return all;
}

Results has_element(const Call& call) {
  Value out{tegula::Tensor(call.has(0))};
  out.known = true;
  return out;
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"SequenceConstruct", [](Call& c) -> Results { return Value::sequence(c.tensors()); }},
    {"SequenceEmpty", [](Call&) -> Results { return Value::sequence({}); }, "dtype"},
    {"SequenceInsert", [](Call& c) -> Results { return inserted(c); }, "", looked({2})},
    {"SequenceErase", [](Call& c) -> Results { return erased(c); }, "", looked({1})},
    {"SequenceAt", [](Call& c) -> Results { return items_of(c, 0)[place_of(c, 1, items_of(c, 0).size(), false)]; }, "", looked({1})},
    {"SequenceLength", [](Call& c) -> Results { return length(c); }},
    {"SplitToSequence", [](Call& c) -> Results { return parted(c); }, "axis keepdims", looked({1})},
    {"ConcatFromSequence", [](Call& c) -> Results { return joined(c); }, "axis new_axis"},
    {"SequenceMap", [](Call& c) -> Results { return mapped(c); }, "body"},
    {"Optional", [](Call& c) -> Results { return c.has(0) ? c.value(0) : Value(); }, "type"},
    {"OptionalGetElement", [](Call& c) -> Results { return c.value(0); }},
    {"OptionalHasElement", [](Call& c) -> Results { return has_element(c); }},
};
// clang-format on

}  // namespace

Operators sequence_operators() { return kOperators; }

}  // namespace tegula::onnx
