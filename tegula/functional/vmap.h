#pragma once
// Functions of one example, applied to many at once.

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structure.h"

namespace tegula {

struct VmapOptions {
  /// The axis of each argument along which the examples lie (negative: from the last); kShared: every example gets the whole argument.
  /// Empty: axis 0 of all.
  std::vector<std::optional<int>> in_axes = {};
  /// The axis of the results along which the examples lie (-1: the last one).
  int out_axis = 0;
  /// An op without a rule runs as a loop over the examples (scan). False: an Error that names the op.
  bool loops = true;
};
/// The entry of VmapOptions::in_axes for an argument that is the same for all examples.
inline constexpr std::nullopt_t kShared = std::nullopt;

namespace functional {

std::vector<Tensor> vmap(const Functions& f, const std::vector<Tensor>& xs, const VmapOptions& options, const Line& where);
[[noreturn]] void refuse_count(std::size_t takes, std::size_t given, const Line& where);

template <std::size_t>
using Argument = const Tensor&;
template <class F, class Indices>
inline constexpr bool kTakes = false;
template <class F, std::size_t... I>
inline constexpr bool kTakes<F, std::index_sequence<I...>> = std::is_invocable_v<F&, Argument<I>...>;

/// f(x) if f takes a list; otherwise f(x[0], x[1], …), of up to eight.
template <std::size_t N = 1, class F>
auto call(F& f, const std::vector<Tensor>& x, const Line& where) {
  if constexpr (std::is_invocable_v<F&, const std::vector<Tensor>&>) {
    return f(x);
  } else if constexpr (kTakes<F, std::make_index_sequence<N>>) {
    if (x.size() != N) refuse_count(N, x.size(), where);
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(x[I]...); }(std::make_index_sequence<N>());
  } else {
    static_assert(N < 8, "tegula: expected a function of one to eight tensors, or of a std::vector of them");
    return call<N + 1>(f, x, where);
  }
}

}  // namespace functional

/// f for each example of xs, which lie along an axis, as one computation; f sees one example and knows of no others:
///
///     vmap([&](Tensor a, Tensor b) { return dot(a, b); }, {x, y});        // (n, k), (n, k) -> (n)
///     vmap([&](Tensor x, Tensor label) { return grad(loss(net(x), label), parameters(net)); }, {xs, labels});  // gradients of each example
///
/// f takes tensors, or a list of them, and gives a tensor or a structure of tensors (a list, pair, tuple, struct); each gets a new axis at out_axis.
/// f runs once: its graph is made anew with one more axis in front, op by op (docs/derivatives.md has the table of rules); what does not depend on an example is
/// computed once. Calls may be nested, differentiated and used within jit and scan; f may use grad, jvp, custom_function and scan.
/// Throws Error: xs without the axis or of different lengths, a Variable assigned in f (a running mean, a generator of random numbers), an exchange or print in f,
/// a value read in f (item), an intermediate tensor of more than seven axes.
template <class F>
auto vmap(F&& f, const std::vector<Tensor>& xs, const VmapOptions& options = {}, Line where = Line::current()) {
  using Result = std::remove_cvref_t<decltype(functional::call(f, xs, where))>;
  Words form;
  const auto flat = [&](const std::vector<Tensor>& x) {
    graph::Flat results = graph::flatten_structure(functional::call(f, x, where));
    form = std::move(results.form);
    return std::move(results.tensors);
  };
  std::vector<Tensor> results = functional::vmap(flat, xs, options, where);
  return graph::build_structure<Result>(results.data(), form.data());
}

}  // namespace tegula
