#include "tests/property/carry_out.h"

#include <algorithm>
#include <functional>

#include "tegula/tegula.h"
#include "tests/property/ops.h"

namespace tegula::property {
namespace {

DType wide(DType dtype) { return dtype == f64 ? f64 : f32; }

/// A mean with other weights for each element, so that gradients differ from place to place.
Tensor weighted_mean(const Tensor& y, std::uint32_t how) {
  const Tensor x = cast(y, wide(y.dtype()));
  if (how % 3 == 0) return mean(x);
  if (how % 3 == 1) return mean(square(x)) * 0.5;
  const Tensor weights = cos(cast(arange(y.numel()), x.dtype()) * 0.7 + 0.3);
  return mean(x * reshape(weights, y.shape()));
}

bool counts(const Tensor& t) { return is_float(t.dtype()) && t.numel() > 0; }

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Tensor gradient_of(const Tensor& y, const Wrt& x, std::uint32_t how) {
  if (!counts(y)) throw Unfit{};
  return grad(weighted_mean(y, how), x);
}

bool is_op(const Instruction& one) { return !one.is_leaf() && !one.is_statement() && one.op != "read" && one.op != "gradient"; }
std::uint32_t coin(const Instruction& one, int i) {
  return (one.knobs[0] ^ one.knobs[1] * 7 ^ static_cast<std::uint32_t>(i) * 2654435761u) >> 3;
}

}  // namespace

Walk::Walk(const Program& program, Host& host) : program_(program), host_(host), values_(program.size()), last_use_(program.size(), -1) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    for (int input : program[i].inputs) last_use_[static_cast<std::size_t>(input)] = static_cast<int>(i);
  }
  folded_.resize(program.size());
  named_.resize(program.size());
  if (host.checkpoints) fold();
}
std::vector<Tensor> Walk::run() {
  for (int i = 0; i < static_cast<int>(program_.size()); ++i) {
    if (folded_[at(i)]) continue;
    step(i);
    if (host_.drops) drop(i);
  }
  std::vector<Tensor> results = kept_;
  results.insert(results.end(), gradients_.begin(), gradients_.end());
  return results;
}

void Walk::step(int i) {
  const Instruction& one = program_[at(i)];
  const auto value = [&](std::size_t k) -> const Tensor& {
    const Tensor& t = values_[at(one.inputs[k])];
    if (!t.defined()) throw Unfit{};
    return t;
  };
  if (values_.size() <= at(i)) values_.resize(at(i) + 1);
  Tensor& out = values_[at(i)];
  if (one.op == "input") out = host_.input(i);
  else if (one.op == "weight") out = host_.weight(i);
  else if (one.op == "variable") return;
  else if (one.op == "read") out = host_.read(one.inputs[0]);
  else if (one.op == "write") return write(one, value(1));
  else if (one.op == "look") return host_.look(value(0), one.knobs[0]);
  else if (one.op == "gradient") out = gradient_of(value(0), target(one.inputs[1]), one.knobs[0]);
  else if (one.op == "gradients") return gradients(one);
  else out = host_.checkpoints ? under_checkpoint(i) : build(i, [&](int input) { return values_[at(input)]; });
  if (one.kept) kept_.push_back(out);
  host_.made(i, out);
}
void Walk::write(const Instruction& one, const Tensor& next) {
  const int variable = one.inputs[0];
  const Tensor before = host_.read(variable);
  if (!is_float(before.dtype()) || next.numel() == 0) throw Unfit{};
  const Tensor fitted = next.shape() == before.shape() ? next : resized(next, before.shape());
  if (one.knobs[0] % 3 == 0) host_.write(variable, fitted);
  else host_.write(variable, before * 0.5 + fitted * (one.knobs[0] % 3 == 1 ? 0.5 : -0.25));
}
// No gradient is taken with respect to a loop's results: second derivatives would depend on whether first ones were written with the stack of all steps
// or with each step's value (tanh: 1 - y²).
Wrt Walk::target(int number) {
  const Instruction& one = program_[at(number)];
  if (one.op.starts_with("loop")) throw Unfit{};
  if (one.op == "variable") return host_.target(number, host_.read(number));
  const Tensor& value = values_[at(number)];
  if (!value.defined()) throw Unfit{};
  return one.is_leaf() ? host_.target(number, value) : Wrt(value);
}
void Walk::gradients(const Instruction& one) {
  std::vector<Wrt> targets;
  for (int number : one.inputs) targets.push_back(target(number));
  const auto total = [](const std::vector<Tensor>& parts) {
    Tensor sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!counts(parts[i])) continue;
      const Tensor part = cast(weighted_mean(parts[i], static_cast<std::uint32_t>(i + 1)), f64);
      sum = sum.defined() ? sum + part : part;
    }
    if (!sum.defined()) throw Unfit{};
    return sum;
  };
  const auto first = grad(total(kept_), targets);
  gradients_.insert(gradients_.end(), first.begin(), first.end());
  if (one.knobs[0] < 2) return;
  const auto second = grad(total(first), targets);
  gradients_.insert(gradients_.end(), second.begin(), second.end());
}
Tensor Walk::build(int i, const std::function<Tensor(int)>& value) {
  const Instruction& one = program_[at(i)];
  std::vector<Tensor> x;
  for (int input : one.inputs) {
    x.push_back(value(input));
    if (!x.back().defined()) throw Unfit{};
  }
  return graph_op(one.op).build({.x = x, .knobs = one.knobs, .generator = &host_.generator(), .written_out = host_.written_out});
}
void Walk::drop(int i) {
  for (int input : program_[at(i)].inputs) {
    if (last_use_[at(input)] == i) values_[at(input)] = {};
  }
  if (last_use_[at(i)] < 0) values_[at(i)] = {};
}

// --- checkpoint ---

// Marks values that only one op uses and nothing else names: they can be made inside that op's checkpoint. A target of differentiation is a result of
// it, or outside: a second derivative by a value in the middle depends on whether first ones were written with it (sqrt: 1 / 2y) or with the value it
// came from, which checkpoint computes again.
void Walk::fold() {
  std::vector<int> uses(program_.size());
  for (const Instruction& one : program_) {
    for (int input : one.inputs) {
      uses[at(input)]++;
      named_[at(input)] = named_[at(input)] || !is_op(one);
    }
  }
  for (int i = 0; i < static_cast<int>(program_.size()); ++i) {
    const Instruction& one = program_[at(i)];
    folded_[at(i)] = is_op(one) && !one.draws() && !one.kept && uses[at(i)] == 1 && !named_[at(i)] && coin(one, i) % 3 != 0;
  }
}

Tensor Walk::under_checkpoint(int root) {
  std::vector<int> outside, stack{root};
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    for (int input : program_[at(i)].inputs) {
      if (folded_[at(input)]) stack.push_back(input);
      else if (std::find(outside.begin(), outside.end(), input) == outside.end()) outside.push_back(input);
    }
  }
  std::vector<Tensor> inputs;
  for (int i : outside) inputs.push_back(values_[at(i)]);
  if (inputs.empty() || program_[at(root)].draws()) return inside(root, outside, inputs);
  return checkpoint([&](const std::vector<Tensor>& x) { return inside(root, outside, x); }, inputs);
}
Tensor Walk::inside(int i, const std::vector<int>& outside, const std::vector<Tensor>& x) {
  return build(i, [&](int input) -> Tensor {
    if (!folded_[at(input)]) return x[static_cast<std::size_t>(std::find(outside.begin(), outside.end(), input) - outside.begin())];
    if (coin(program_[at(input)], input) % 4 != 0) return inside(input, outside, x);
    return checkpoint([&](const std::vector<Tensor>& y) { return inside(input, outside, y); }, x);  // one in the other
  });
}

std::vector<Tensor> carry_out(const Program& program, Host& host) { return Walk(program, host).run(); }

}  // namespace tegula::property
