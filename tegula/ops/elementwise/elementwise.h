#pragma once
// From a formula to an op: `Tensor gelu(Arg x) { return elementwise<formula::Gelu>(x); }`. Internal to ops/.
//
// A formula F is a struct with
//   static constexpr OpInfo info{name, meaning, operands, numerics};
//   static auto forward(Numeric auto x…)              once, for every value type
// and, if the derivative of forward is not good enough,
//   static auto derivative(Input<i>, x…, y)           the partial derivative, with the result y at hand (for one input also derivative(x, y))
//   static auto pullback(Input<i>, x…, y, dy)         derivative times dy, where a product would spoil it (for one input also pullback(x, y, dy))
//   static Tensor vjp(Input<i>, x…, y, dy)            the gradient of input i as other ops
//   static constexpr int inputs = 1                   further operands are parameters: numbers without a gradient
//   static constexpr auto zeros = Zeros::AbsorbAll    it chooses: an operand with gradient 0 gives none, whatever it holds (graph/autodiff/absorb.h)
// The op is one node. Its gradient with respect to an input is one node, too: the derivative of the formula in the direction dy, by Dual, so that
// elements left out by a `where` stay out, whatever they hold. Gradients of that node are primitives of the graph.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "tegula/graph/op_table.h"
#include "tegula/ops/elementwise/dual.h"

namespace tegula {

namespace formula {

template <class T>
struct IsDual : std::false_type {};
template <class T>
struct IsDual<Dual<T>> : std::true_type {};

/// The types that a formula computes with.
template <class T>
concept Numeric = std::same_as<T, double> || std::same_as<T, Value> || std::same_as<T, Tensor> || IsDual<T>::value;

template <class F, class T, std::size_t N>
auto call(const std::array<T, N>& x) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return F::forward(x[I]...); }(std::make_index_sequence<N>());
}

template <class F, int N = 1>
constexpr int arity() {
  constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires { F::forward((static_cast<void>(I), 0.5)...); };
  }(std::make_index_sequence<N>());
  if constexpr (fits) return N;
  else return arity<F, N + 1>();
}

/// F's declared derivative with respect to input I, of the inputs x and the result y.
template <class F, int I, class T, std::size_t N>
auto declared(const std::array<T, N>& x, const T& y) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    if constexpr (requires { F::derivative(Input<I>{}, x[K]..., y); }) return F::derivative(Input<I>{}, x[K]..., y);
    else if constexpr (requires { F::derivative(x[K]..., y); }) return F::derivative(x[K]..., y);
  }(std::make_index_sequence<N>());
}

template <class F, int I, class T, std::size_t N>
auto declared_pullback(const std::array<T, N>& x, const T& y, const T& dy) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    if constexpr (requires { F::pullback(Input<I>{}, x[K]..., y, dy); }) return F::pullback(Input<I>{}, x[K]..., y, dy);
    else if constexpr (requires { F::pullback(x[K]..., y, dy); }) return F::pullback(x[K]..., y, dy);
  }(std::make_index_sequence<N>());
}

template <class F, int I>
inline constexpr bool kPullback =
    !std::is_void_v<decltype(declared_pullback<F, I>(std::array<double, static_cast<std::size_t>(arity<F>())>{}, 0.0, 0.0))>;
template <class F, int I>
inline constexpr bool kDeclared =
    !std::is_void_v<decltype(declared<F, I>(std::array<double, static_cast<std::size_t>(arity<F>())>{}, 0.0))>;

/// The number of F's operands that may have a gradient.
template <class F>
constexpr int differentiable_inputs() {
  constexpr auto kind = F::info.operands;
  if constexpr (kind != Operands::Numbers && kind != Operands::Floats && kind != Operands::Chosen) return 0;
  else if constexpr (requires { F::inputs; }) return F::inputs;
  else return arity<F>();
}

/// The derivative of F along one input: a number that does not depend on the values, or nothing.
template <class F, int I>
Tangent<double> structural_derivative() {
  constexpr auto N = static_cast<std::size_t>(arity<F>());
  if constexpr (kDeclared<F, I> || kPullback<F, I>) {
    return Tangent<double>::of(0);
  } else {
    std::array<Dual<double>, N> x;
    x.fill({0.5, {}});
    x[I].tangent = Tangent<double>::constant(1);
    return call<F>(x).tangent;
  }
}

template <class F>
constexpr Zeros zeros_of() {
  if constexpr (requires { F::zeros; }) return F::zeros;
  else return Zeros::Plain;
}

/// The gradient of input I: (x…, y, dy) -> dF/dx_I * dy.
template <class F, int I, class T, std::size_t M>
T input_gradient(const std::array<T, M>& all) {
  constexpr std::size_t N = M - 2;
  const T &y = all[N], &dy = all[N + 1];
  std::array<T, N> x;
  for (std::size_t k = 0; k < N; ++k) x[k] = all[k];
  if constexpr (kPullback<F, I>) {
    return declared_pullback<F, I>(x, y, dy);
  } else if constexpr (kDeclared<F, I>) {
    return dy * declared<F, I>(x, y);
  } else {
    std::array<Dual<T>, N> dual;
    for (std::size_t k = 0; k < N; ++k) dual[k].value = x[k];
    dual[I].tangent = Tangent<T>::of(dy);
    return materialized(call<F>(dual).tangent, dy);
  }
}

/// A result in the graph's meaning of `dtype`: small integers wrap. Halves are kept in f32.
tile::Value wrapped(tile::Value x, DType dtype);

/// The words that a formula emits for inputs that are tile values.
struct Emitted {
  std::size_t count;
  bool condition_first;
  tile::Value (*emit)(std::span<const tile::Value>);
};
/// The word that the formula is, of its inputs in their order; nothing if there are several, or none.
std::optional<tile::Word> single_word(const Emitted& formula);
/// The inputs that the emitted words really use, as a mask.
std::uint32_t used_inputs(const Emitted& formula);
/// True if the result is 0 where the last input is, for all values of the others: it is only selected, and multiplied by constants of the formula.
bool keeps_zeros(const Emitted& formula);

/// The factor that a cotangent is multiplied by.
enum class Factor : std::uint8_t {
  Safe,  // 0 stays 0
  Value,  // a number that is finite at finite arguments
  Pole,  // not at all of these
};

/// A partial derivative times a cotangent, at a node.
struct Partial {
  std::function<Tensor(const Tensor&)> times;
  Factor factor;
  Zeros zeros;  // gradient_zeros of its op
};

/// dy * number as the graph writes it.
Tensor scaled(const Tensor& dy, double number);

/// partial.times(dy), with the masks of `where` moved from dy to the result, so that an infinite derivative never meets their
/// zeros: the gradient of where(x > 0, log(x), 0) is 0 at 0. Other zeros absorb it where they should (graph/autodiff/absorb.h).
Tensor times_partial(const Tensor& dy, const Partial& partial);
/// `product` of a cotangent and such a factor, absorbed by the cotangent's zeros if they do that. Nothing stays nothing.
Tensor absorbed_by(const Tensor& cotangent, const Tensor& product, Factor factor);

/// x where the condition holds, else 0: the mask that the gradient of `where` is.
Tensor kept_where(const Tensor& condition, const Tensor& x);

/// Checks, converts and broadcasts operands, and makes the node.
Tensor build(const OpInfo& info, const Ref<const Op>& op, std::span<const Arg> operands);

/// True if F's derivative with respect to input I is infinite or NaN at some finite inputs.
template <class F, int I>
bool has_poles() {
  constexpr std::size_t N = static_cast<std::size_t>(arity<F>());
  constexpr std::array kNumbers{0.0, -0.5, 0.5, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0};
  std::array<std::size_t, N> at{};
  while (true) {
    std::array<double, N> x;
    std::array<double, N + 2> all{};  // the cotangent is 0
    for (std::size_t k = 0; k < N; ++k) all[k] = x[k] = kNumbers[at[k]];
    all[N] = static_cast<double>(call<F>(x));
    if (std::isnan(input_gradient<F, I>(all))) return true;
    std::size_t k = 0;
    while (k < N && ++at[k] == kNumbers.size()) at[k++] = 0;
    if (k == N) return false;
  }
}

/// True if all operands of y that a derivative uses (a mask over x… and y) are constant, finite and not 0.
bool are_numbers(const Node& y, std::uint32_t used, std::size_t operands);

inline Tensor tensor_of(const Node& node) { return Tensor(Ref<Node>(const_cast<Node*>(&node))); }

}  // namespace formula

/// The op of a formula's gradient with respect to input I. Its inputs are those of (x…, y, dy) that the derivative uses.
template <class F, int I>
class ElementwiseGradient final : public ElementwiseOp {
 public:
  static constexpr std::size_t kCount = static_cast<std::size_t>(formula::arity<F>()) + 2;

  static const Ref<const Op>& instance() {
    static const Ref<const Op> op(new ElementwiseGradient);
    return op;
  }
  static Tensor make(const Node& y, const Tensor& dy) {
    std::vector<Tensor> inputs;
    for (std::size_t k = 0; k < kCount; ++k) {
      if (!uses(k)) continue;
      inputs.push_back(k + 2 < kCount ? formula::tensor_of(y.input(static_cast<int>(k))) : k + 2 == kCount ? formula::tensor_of(y) : dy);
    }
    return make_node(instance(), inputs, y.shape(), y.dtype(), y.origin().where);
  }

  std::string_view name() const override {
    static const std::string text = std::string(F::info.name) + "_gradient";
    return text;
  }
  Numerics numerics() const override { return F::info.numerics; }
  Zeros gradient_zeros() const override { return formula::zeros_of<F>(); }
  void attributes(Attributes& a) override {
    if constexpr (formula::arity<F>() > 1) {
      int input = I;
      a("input", input);
    }
  }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType) const override { return emit_all(spread(x)); }
  double reference(std::span<const double> x) const override { return formula::input_gradient<F, I>(spread(x)); }

  std::vector<Tensor> gradient(const Node& node, const Tensor& dy, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> inputs;
    for (const auto& input : node.inputs()) inputs.emplace_back(input);
    const auto all = spread(std::span<const Tensor>(inputs));
    std::vector<Tensor> out(inputs.size());
    std::size_t at = 0;
    for (std::size_t k = 0; k < kCount; ++k) {
      if (!uses(k)) continue;
      if (wanted[at]) {
        const formula::Factor factor = k + 1 == kCount ? this->factor() : std::max(this->factor(), formula::Factor::Value);
        out[at] = formula::times_partial(dy, {[&](const Tensor& part) { return second(all, k, part); }, factor, gradient_zeros()});
        if (k + 1 < kCount) out[at] = formula::absorbed_by(all[kCount - 1], out[at], factor);  // the first cotangent is a factor of it
        if (out[at].defined()) out[at] = graph::sum_to(out[at], inputs[at].shape());
      }
      ++at;
    }
    return out;
  }

  /// The arguments among (x…, y, dy) that the derivative uses, as a mask.
  static std::uint32_t used() {
    static const std::uint32_t mask = formula::used_inputs(emitted());
    return mask;
  }
  static formula::Factor factor() {
    static const formula::Factor found = formula::keeps_zeros(emitted()) ? formula::Factor::Safe
                                         : formula::has_poles<F, I>()    ? formula::Factor::Pole
                                                                         : formula::Factor::Value;
    return found;
  }

 private:
  using Values = std::array<tile::Value, kCount>;

  static formula::Emitted emitted() {
    return {kCount, F::info.operands == formula::Operands::Chosen, +[](std::span<const tile::Value> x) {
              Values all;
              std::copy(x.begin(), x.end(), all.begin());
              return emit_all(all);
            }};
  }
  static bool uses(std::size_t k) { return used() >> k & 1; }
  static tile::Value emit_all(const Values& all) { return formula::input_gradient<F, I>(all); }

  /// Every input in its place; dy stands where the derivative does not look.
  template <class T>
  static std::array<std::remove_const_t<T>, kCount> spread(std::span<T> x) {
    std::array<std::remove_const_t<T>, kCount> all;
    all.fill(x.back());
    std::size_t at = 0;
    for (std::size_t k = 0; k < kCount; ++k) {
      if (uses(k)) all[k] = x[at++];
    }
    return all;
  }

  static Tensor second(const std::array<Tensor, kCount>& all, std::size_t k, const Tensor& dy) {
    std::array<formula::Dual<Tensor>, kCount> dual;
    for (std::size_t i = 0; i < kCount; ++i) dual[i].value = all[i];
    dual[k].tangent = formula::Tangent<Tensor>::of(dy);
    const auto tangent = formula::input_gradient<F, I>(dual).tangent;
    if (tangent.is_zero()) return Tensor();
    return tangent.known ? formula::scaled(dy, tangent.number) : tangent.value;
  }
};

/// The op of a formula.
template <class F>
class Elementwise final : public ElementwiseOp {
 public:
  static constexpr std::size_t kArity = static_cast<std::size_t>(formula::arity<F>());

  static const Ref<const Op>& instance() {
    static const Ref<const Op> op(new Elementwise);
    return op;
  }

  std::string_view name() const override { return F::info.name; }
  Numerics numerics() const override { return F::info.numerics; }
  bool takes_float8() const override { return formula::takes_float8(F::info.operands); }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType dtype) const override {
    std::array<tile::Value, kArity> values;
    std::copy_n(x.begin(), kArity, values.begin());
    return formula::wrapped(formula::call<F>(values), dtype);
  }
  double reference(std::span<const double> x) const override {
    std::array<double, kArity> values;
    std::copy_n(x.begin(), kArity, values.begin());
    return static_cast<double>(formula::call<F>(values));
  }
  Zeros gradient_zeros() const override { return formula::zeros_of<F>(); }
  std::optional<tile::Word> word() const override {
    if constexpr (kArity != 2 || F::info.operands != formula::Operands::Numbers) {
      return std::nullopt;
    } else {
      static const std::optional<tile::Word> found =
          formula::single_word({kArity, false, +[](std::span<const tile::Value> x) { return formula::call<F>(std::array{x[0], x[1]}); }});
      return found;
    }
  }
  std::vector<Tensor> gradient([[maybe_unused]] const Node& y, [[maybe_unused]] const Tensor& dy,
                               [[maybe_unused]] const std::vector<bool>& wanted) const override {
    std::vector<Tensor> out(kArity);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((wanted[I] ? static_cast<void>(out[I] = times_partial<static_cast<int>(I)>(y, dy)) : void()), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(formula::differentiable_inputs<F>())>());
    for (std::size_t i = 0; i < kArity; ++i) {
      if (out[i].defined()) out[i] = graph::sum_to(out[i], y.inputs()[i]->shape());
    }
    return out;
  }

 private:
  template <int I>
  static Tensor times_partial(const Node& y, const Tensor& dy) {
    using Gradient = ElementwiseGradient<F, I>;
    const bool constant = formula::are_numbers(y, Gradient::used(), kArity);
    return formula::times_partial(dy, {[&](const Tensor& part) { return of_input<I>(y, part); },
                                       constant ? formula::Factor::Safe : Gradient::factor(), formula::zeros_of<F>()});
  }
  template <int I>
  static Tensor of_input(const Node& y, const Tensor& dy) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      const auto x = [&](std::size_t k) { return formula::tensor_of(y.input(static_cast<int>(k))); };
      if constexpr (requires { F::vjp(formula::Input<I>{}, x(K)..., dy, dy); }) {
        return F::vjp(formula::Input<I>{}, x(K)..., formula::tensor_of(y), dy);
      } else {
        const auto known = formula::structural_derivative<F, I>();
        if (!known.known) return ElementwiseGradient<F, I>::make(y, dy);
        return known.number == 0 ? Tensor() : formula::scaled(dy, known.number);
      }
    }(std::make_index_sequence<kArity>());
  }
};

/// True if a formula with these operands has a result of this dtype; this tells two formulas of one name, for floats and for integers, apart.
bool gives(formula::Operands operands, DType dtype);

template <class F, int I>
void add_formula_gradient(OpTable& table) {
  constexpr bool by_ops = []<std::size_t... K>(std::index_sequence<K...>) {
    return requires(const Tensor& t) { F::vjp(formula::Input<I>{}, (static_cast<void>(K), t)..., t, t); };
  }(std::make_index_sequence<static_cast<std::size_t>(formula::arity<F>())>());
  if constexpr (!by_ops) {
    if (formula::structural_derivative<F, I>().known) return;
    table.add(std::string(F::info.name) + "_gradient", [](Attributes& reader) -> Ref<const Op> {
      const Ref<const Op>& op = ElementwiseGradient<F, I>::instance();
      int input = I;
      if constexpr (formula::arity<F>() > 1) reader("input", input);
      if (input != I) return nullptr;
      reader.require(reader.made_for()->results.size() == 1, "results");
      reader.require(reader.made_for()->inputs.size() == static_cast<std::size_t>(std::popcount(ElementwiseGradient<F, I>::used())), "in");
      return op;
    });
  }
}

/// The op of formula F and those of its gradient, for a table of ops.
template <class F>
void add_formula(OpTable& table) {
  table.add(F::info.name, [](Attributes& reader) -> Ref<const Op> {
    if (!gives(F::info.operands, reader.made_for()->results[0].dtype)) return nullptr;
    reader.require(reader.made_for()->results.size() == 1, "results");
    reader.require(reader.made_for()->inputs.size() == Elementwise<F>::kArity, "in");
    return Elementwise<F>::instance();
  });
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (add_formula_gradient<F, static_cast<int>(I)>(table), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(formula::differentiable_inputs<F>())>());
}
template <class... F>
void add_formulas(OpTable& table) {
  (add_formula<F>(table), ...);
}

/// The node of formula F over operands that promote and broadcast; errors carry the first operand's line.
template <class F, class... Args>
Tensor elementwise(const Args&... operands) {
  static_assert(sizeof...(Args) == Elementwise<F>::kArity, "the formula takes another number of operands");
  const Arg list[]{Arg(operands)...};
  return formula::build(F::info, Elementwise<F>::instance(), list);
}

}  // namespace tegula
