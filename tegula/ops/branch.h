#pragma once
// Choices and loops that values decide while the program runs.

#include <functional>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

using BranchBody = std::function<std::vector<Tensor>(const std::vector<Tensor>& operands)>;
/// then_body(operands) where the predicate, a boolean (), holds, else_body(operands) where it does not (jax.lax.cond). Both bodies are called once, to
/// write them down, and their results have the same shapes and dtypes. On the CPU only the one that holds is computed; on a GPU, and where a gradient
/// is taken, both are, and one is chosen; so are values that a body computes from captured tensors alone. Differentiate by operands, Variables and captured
/// tensors: a branch that does not hold gets no gradient, whatever its values are. Throws Error: a predicate of another shape or dtype, results that
/// differ, a Variable assigned in a body.
std::vector<Tensor> cond(Arg predicate, const BranchBody& then_body, const BranchBody& else_body, const std::vector<Tensor>& operands = {});

struct Repeated {
  std::vector<Tensor> carry;  // the last values
  Tensor steps;  // () i64: how many times the body ran; `most` also if it would go on
};
using LoopCondition = std::function<Tensor(const std::vector<Tensor>& carry)>;
/// carry = body(carry) as long as condition(carry), a boolean (), holds, at most `most` times (jax.lax.while_loop with a bound).
///
///     auto [root, steps] = while_loop([&](auto& c) { return abs(c[0] * c[0] - x) > 1e-6; },
///                                     [&](auto& c) { return std::vector{(c[0] + x / c[0]) / 2}; }, {x}, 50);
///
/// Condition and body are called once, to write them down. On the CPU the loop ends when the condition does not hold; on a GPU, and where a gradient is
/// taken, all `most` steps run, and those behind the end change nothing and have no gradient. The gradient takes memory linear in `most`.
/// Throws Error: a negative `most`, a condition of another shape or dtype, a carried value that changes shape or dtype, a Variable assigned in either.
Repeated while_loop(const LoopCondition& condition, const BranchBody& body, const std::vector<Tensor>& start, std::int64_t most,
                    Line where = Line::current());

}  // namespace tegula
