// Graphs within a node: If, Loop, Scan. Choices by shapes and constants are made when the graph is built; a Loop is written out.

#include <limits>

#include "tegula/graph/trace.h"
#include "tegula/onnx/ops/common.h"
#include "tegula/ops/branch.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kMostIterations = 100'000;  // that a Loop is written out to

std::vector<Value> rest_of(const Call& call, std::size_t from) {
  std::vector<Value> out;
  for (std::size_t i = from; i < call.size(); ++i) out.push_back(call.has(i) ? call.value(i) : Value());
  return out;
}

Results results_of(std::vector<Value> values) {
  Results out;
  for (Value& one : values) out.push_back(std::move(one));
  return out;
}

std::vector<Tensor> tensors_of(const std::vector<Value>& values) {
  std::vector<Tensor> out;
  for (const Value& one : values) out.push_back(one.tensor);
  return out;
}

/// One branch where the condition is known; else both are written down, and the condition chooses.
Results branched(const Call& call) {
  if (call.is_known(0)) return results_of(call.run(call.graph(call.integer(0) != 0 ? "then_branch" : "else_branch"), {}));
  const auto yes = call.run(call.graph("then_branch"), {}), no = call.run(call.graph("else_branch"), {});
  if (yes.size() != no.size())
    call.refuse("branches with " + std::to_string(yes.size()) + " and " + std::to_string(no.size()) + " results", "as many");
  for (std::size_t i = 0; i < yes.size(); ++i) {
    const bool fit = yes[i].kind == Value::Kind::Tensor && no[i].kind == Value::Kind::Tensor &&
                     yes[i].tensor.shape() == no[i].tensor.shape() && yes[i].tensor.dtype() == no[i].tensor.dtype();
    if (!fit)
      call.refuse("a condition that depends on values, with branches whose result " + std::to_string(i) + " is of different kinds",
                  "results of one shape and dtype, or a condition that is known when the function is traced", "call the model without jit");
  }
  const auto branch = [&](std::string_view name) {
    return [&call, name](const std::vector<Tensor>&) { return tensors_of(call.run(call.graph(name), {})); };
  };
  return cond(Arg(reshape(call[0], {}), call.where()), branch("then_branch"), branch("else_branch"));
}

Value known(Tensor x) {
  Value out(std::move(x));
  out.known = true;
  return out;
}

/// The iterations' results along a new axis; without an iteration as the graph declares it.
Tensor stacked(const Call& call, const std::vector<Tensor>& items, const ValueType& declared) {
  if (!items.empty()) return stack(items, 0);
  Shape shape{0};
  for (const std::int64_t size : declared.sizes) {
    if (size < 0) call.refuse("no iteration, and a result whose sizes are not declared", "declared sizes, or an iteration");
    shape.push_back(size);
  }
  if (!declared.has_shape || !has_dtype(declared.element))
    call.refuse("no iteration, and a result of no declared type", "a declared type, or an iteration");
  return zeros(shape, dtype_of(declared.element));
}

/// A loop whose end depends on values that only a run has, of at most `most` iterations.
Results repeated(const Call& call, const Graph& body, std::int64_t most, bool goes_on, const std::vector<Value>& carried) {
  std::vector<Tensor> start{tegula::Tensor(goes_on), tegula::Tensor(std::int64_t{0})};
  for (const Value& one : carried) {
    if (one.kind != Value::Kind::Tensor)
      call.refuse("a carried sequence in a loop whose end depends on values", "tensors", "call the model without jit");
    start.push_back(one.tensor);
  }
  const auto step = [&](const std::vector<Tensor>& carry) {
    std::vector<Value> inputs{Value(carry[1]), known(tegula::Tensor(true))};
    for (std::size_t k = 2; k < carry.size(); ++k) inputs.emplace_back(carry[k]);
    std::vector<Tensor> next = tensors_of(call.run(body, std::move(inputs)));
    next[0] = reshape(next[0], {});
    next.insert(next.begin() + 1, carry[1] + 1);
    return next;
  };
  const Repeated out = while_loop([](const std::vector<Tensor>& carry) { return carry[0]; }, step, start, most, call.where());
  return std::vector<Tensor>(out.carry.begin() + 2, out.carry.end());
}

Results looped(const Call& call) {
  const Graph& body = call.graph("body");
  const std::int64_t most = call.has(0) ? call.integer(0) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !call.has(1) || call.integer(1) != 0;
  std::vector<Value> carried = rest_of(call, 2);
  if (body.outputs.size() < carried.size() + 1)
    call.refuse("a body of " + std::to_string(body.outputs.size()) + " results", "a condition and all carried values");
  std::vector<std::vector<Tensor>> kept(body.outputs.size() - 1 - carried.size());
  for (std::int64_t i = 0; i < most && goes_on; ++i) {
    if (i == kMostIterations) call.refuse("more than " + std::to_string(kMostIterations) + " iterations", "fewer");
    std::vector<Value> inputs{known(tegula::Tensor(i)), known(tegula::Tensor(true))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::vector<Value> out = call.run(body, std::move(inputs));
    if (i == 0 && kept.empty() && call.has(0) && !out[0].known && Trace::current()) return repeated(call, body, most, goes_on, carried);
    const HostArray condition = call.look(out[0], "the condition of its body");
    goes_on = condition.size() == 1 && *static_cast<const std::uint8_t*>(condition.buffer->data()) != 0;
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = std::move(out[k + 1]);
    for (std::size_t k = 0; k < kept.size(); ++k) kept[k].push_back(out[k + 1 + carried.size()].tensor);
  }
  Results results = results_of(std::move(carried));
  const std::size_t first = body.outputs.size() - kept.size();
  for (std::size_t k = 0; k < kept.size(); ++k) results.emplace_back(stacked(call, kept[k], body.outputs[first + k]));
  return results;
}

/// A loop over the slices of `xs` along axis 0.
std::vector<Tensor> scanned(const Call& call, const Graph& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs) {
  const auto step = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    std::vector<Value> inputs(carry.begin(), carry.end());
    inputs.insert(inputs.end(), x.begin(), x.end());
    Scanned out;
    for (const Value& one : call.run(body, std::move(inputs))) (out.carry.size() < start.size() ? out.carry : out.ys).push_back(one.tensor);
    return out;
  };
  Scanned out = scan(step, start, xs, {}, call.where());
  std::vector<Tensor> all = std::move(out.carry);
  all.insert(all.end(), out.ys.begin(), out.ys.end());
  return all;
}

Results scan_of(const Call& call) {
  const Graph& body = call.graph("body");
  const bool has_batch = call.opset() < 9;  // then the first input is lengths, and each sample is a loop of its own
  const std::vector<Value> given = rest_of(call, has_batch ? 1 : 0);
  const auto count = static_cast<std::size_t>(call.integer("num_scan_inputs", 0));
  if (count < 1 || count > given.size()) call.refuse("num_scan_inputs = " + std::to_string(count), "1 to " + std::to_string(given.size()));
  if (has_batch && call.has(0)) call.refuse("lengths of sequences", "sequences of one length");
  const std::size_t states = given.size() - count;
  std::vector<Tensor> start, xs;
  for (const Value& one : given) (start.size() < states ? start : xs).push_back(one.tensor);
  const auto one_for_each = [&](std::string_view attribute, std::size_t wanted) {
    auto values = call.integers(attribute, std::vector<std::int64_t>(wanted, 0));
    if (values.size() != wanted)
      call.refuse(std::string(attribute) + " of " + std::to_string(values.size()) + " numbers", std::to_string(wanted));
    return values;
  };
  const auto in_axes = one_for_each("scan_input_axes", count);
  const auto in_reverse = one_for_each(has_batch ? "directions" : "scan_input_directions", count);
  if (has_batch) {
    std::vector<std::vector<Tensor>> columns;
    for (std::int64_t b = 0; b < xs[0].size(0); ++b) {
      std::vector<Tensor> own_start, own_xs;
      for (const Tensor& x : start) own_start.push_back(select(x, 0, b));
      for (std::size_t i = 0; i < count; ++i) own_xs.push_back(in_reverse[i] ? flip(select(xs[i], 0, b), 0) : select(xs[i], 0, b));
      const auto all = scanned(call, body, own_start, own_xs);
      columns.resize(all.size());
      for (std::size_t i = 0; i < all.size(); ++i) columns[i].push_back(all[i]);
    }
    Results out;
    for (const auto& column : columns) out.emplace_back(stack(column, 0));
    return out;
  }
  for (std::size_t i = 0; i < count; ++i) {
    xs[i] = movedim(xs[i], call.axis(in_axes[i], xs[i].rank()), 0);
    if (in_reverse[i]) xs[i] = flip(xs[i], 0);
  }
  std::vector<Tensor> all = scanned(call, body, start, xs);
  const std::size_t kept = all.size() - states;
  const auto out_axes = one_for_each("scan_output_axes", kept);
  const auto out_reverse = one_for_each("scan_output_directions", kept);
  for (std::size_t i = 0; i < kept; ++i) {
    Tensor& y = all[states + i];
    if (out_reverse[i]) y = flip(y, 0);
    y = movedim(y, 0, call.axis(out_axes[i], y.rank()));
  }
  return all;
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"If", [](Call& c) -> Results { return branched(c); }, "then_branch else_branch"},
    {"Loop", [](Call& c) -> Results { return looped(c); }, "body", looked({0, 1})},
    {"Scan", [](Call& c) -> Results { return scan_of(c); }, "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions directions"},
};
// clang-format on

}  // namespace

Operators control_operators() { return kOperators; }

}  // namespace tegula::onnx
