#pragma once
// The parameters of a kernel's lambda, and a launch's argument for each.

#include <bit>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/tile_kernel.h"
#include "tegula/tile/language/descriptor.h"

namespace tegula::tile {

/// A result of a launch, for a parameter Out<T>, of that dtype; with a dtype of its own for Out<Any>.
struct OutShape {
  Shape shape;
  std::optional<tegula::Number> fill = {};
  std::optional<DType> dtype = {};
};
inline OutShape out(Shape shape) { return {std::move(shape)}; }
inline OutShape out(Shape shape, tegula::Number fill) { return {std::move(shape), fill}; }

/// For a parameter Descriptor: the tensor, and the shape of its blocks.
template <class X>
struct Blocked {
  X of;
  Shape block;
};
inline Blocked<Tensor> descriptor(const Tensor& x, Shape block) { return {x, std::move(block)}; }
inline Blocked<OutShape> descriptor(OutShape x, Shape block) { return {std::move(x), std::move(block)}; }
inline Blocked<Variable*> descriptor(Variable& x, Shape block) { return {&x, std::move(block)}; }

/// The value for a Const that tune() or given() decides. Such values at the end of the parameters may be left out.
struct Tuned {};
inline constexpr Tuned tuned;

namespace language {

enum class Role : std::uint8_t { Input, Output, Update, Integer, Real, Flag, Constant };

/// The facts known of a parameter from its type.
struct ParameterFacts {
  Role role;
  const char* name = "";
  int rank = -1;  // of a TensorOf or Descriptor
  bool blocks = false;  // a Descriptor
  bool real = false;  // a Const of a float type
};

template <class P>
struct Parameter;
template <class T>
struct Parameter<Ptr<T>> {
  static constexpr ParameterFacts facts{Role::Input};
  using Element = T;
};
template <class T>
struct Parameter<Out<T>> {
  static constexpr ParameterFacts facts{Role::Output};
  using Element = T;
};
template <class T>
struct Parameter<InOut<T>> {
  static constexpr ParameterFacts facts{Role::Update};
  using Element = T;
};
template <class T, int N>
struct Parameter<TensorOf<T, N>> : Parameter<typename Tensored<T>::Pointer> {
  static constexpr ParameterFacts facts{Parameter<typename Tensored<T>::Pointer>::facts.role, "", N};
};
template <class T, int N>
struct Parameter<Descriptor<T, N>> : Parameter<typename Tensored<T>::Pointer> {
  static constexpr ParameterFacts facts{Parameter<typename Tensored<T>::Pointer>::facts.role, "", N, true};
};
template <>
struct Parameter<Int> {
  static constexpr ParameterFacts facts{Role::Integer};
};
template <>
struct Parameter<Float> {
  static constexpr ParameterFacts facts{Role::Real};
};
template <>
struct Parameter<Bool> {
  static constexpr ParameterFacts facts{Role::Flag};
};
template <class T, FixedText Name>
struct Parameter<Const<T, Name>> {
  static constexpr ParameterFacts facts{Role::Constant, Name.letters, -1, false, std::is_floating_point_v<T>};
  using Element = T;
};
template <class P, FixedText Name>
struct Parameter<Named<P, Name>> : Parameter<P> {
  static constexpr ParameterFacts facts = [] {
    ParameterFacts named = Parameter<P>::facts;
    named.name = Name.letters;
    return named;
  }();
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class... P>
struct Signature<void (F::*)(P...) const> {
  using Parameters = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr std::size_t size = sizeof...(P);
  static constexpr ParameterFacts facts[] = {Parameter<std::remove_cvref_t<P>>::facts...};
};

/// The arguments of a launch, one parameter after the other. Errors name the parameter.
class Arguments {
 public:
  Arguments(const std::string& name, const Dims& grid, const Line& where);
  void input(const Tensor& x, std::optional<DType> dtype);
  void output(const OutShape& shape, std::optional<DType> dtype);
  void update(const Tensor& x, std::optional<DType> dtype);
  /// Sizes of a tensor of a parameter with a rank, which has been taken just now; and its block, of a Descriptor.
  void shaped(const ParameterFacts& facts, const Shape& shape, const Shape* block);
  void integer(std::int64_t value) { ++number_, launch.numbers.push_back(value); }
  void real(double value) { ++number_, launch.reals.push_back(value); }
  void constant(std::int64_t bits) { ++number_, launch.constants.push_back(bits); }
  /// A constant that is decided later.
  void undecided() { waits_.push_back(launch.constants.size()), constant(0); }

  TileLaunch launch;
  std::vector<Tensor> inputs;
  /// Places in launch.constants.
  std::vector<std::size_t>& waits() { return waits_; }
  const std::vector<std::size_t>& waits() const { return waits_; }
  const std::string& name() const { return name_; }
  const Line& where() const { return where_; }

 private:
  void require(const std::string& what, std::optional<DType> got, std::optional<DType> wanted) const;
  const std::string& name_;
  Line where_;
  int number_ = 0;
  std::vector<std::size_t> waits_;
};

/// Values of the parameters while the kernel is recorded.
struct Cursor {
  const TileArguments& arguments;
  std::size_t input = 0, output = 0, number = 0, real = 0, constant = 0, stride = 0;
};
Content next_input(Cursor& cursor);
Content next_output(Cursor& cursor);
Content next_number(Cursor& cursor);
Content next_real(Cursor& cursor);
TensorContents next_tensor(Cursor& cursor, const ParameterFacts& facts);
template <class P>
P next(Cursor& cursor, const Line& where) {
  constexpr ParameterFacts facts = Parameter<P>::facts;
  if constexpr (facts.rank >= 0) return P(next_tensor(cursor, facts), where);
  else if constexpr (facts.role == Role::Input) return P(next_input(cursor), where);
  else if constexpr (facts.role == Role::Output) return P(next_output(cursor), where);
  else if constexpr (facts.role == Role::Update) return ++cursor.input, P(next_output(cursor), where);
  else if constexpr (facts.role == Role::Integer) return P(next_number(cursor), where);
  else if constexpr (facts.role == Role::Real) return P(next_real(cursor), where);
  else if constexpr (facts.role == Role::Flag) return P(Content{next_number(cursor).value != 0, boolean}, where);
  else {
    using T = typename Parameter<P>::Element;
    const std::int64_t bits = cursor.arguments.constants[cursor.constant++];
    if constexpr (std::is_floating_point_v<T>) return P{static_cast<T>(std::bit_cast<double>(bits))};
    else return P{static_cast<T>(bits)};
  }
}

template <class P>
std::optional<DType> dtype_of_parameter() {
  using T = typename Parameter<P>::Element;
  if constexpr (std::is_same_v<T, Any>) return std::nullopt;
  else return dtype_of<T>();
}

/// The tensor of a launch's argument, without the blocks.
template <class X>
const X& unblocked(const X& x) {
  return x;
}
inline const Tensor& unblocked(const Blocked<Tensor>& x) { return x.of; }
inline const OutShape& unblocked(const Blocked<OutShape>& x) { return x.of; }
inline Variable& unblocked(const Blocked<Variable*>& x) { return *x.of; }
template <class X>
inline constexpr bool is_blocked = false;
template <class X>
inline constexpr bool is_blocked<Blocked<X>> = true;

template <class P, class X>
void take(Arguments& arguments, const X& given) {
  constexpr ParameterFacts facts = Parameter<P>::facts;
  constexpr Role role = facts.role;
  static_assert(is_blocked<X> == facts.blocks, "a Descriptor<T, N> is given tile::descriptor(tensor, block), and nothing else is");
  const auto& x = unblocked(given);
  using Y = std::remove_cvref_t<decltype(x)>;
  if constexpr (role == Role::Input) {
    static_assert(std::is_convertible_v<const Y&, Tensor>, "a Ptr<T> is given a Tensor or a Variable");
    arguments.input(x, dtype_of_parameter<P>());
    if constexpr (facts.rank >= 0) arguments.launch.strided.push_back(static_cast<int>(arguments.inputs.size()) - 1);
  } else if constexpr (role == Role::Output) {
    static_assert(std::is_same_v<Y, OutShape>, "an Out<T> is given tile::out(shape) or tile::out(shape, fill)");
    arguments.output(x, dtype_of_parameter<P>());
  } else if constexpr (role == Role::Update) {
    static_assert(std::is_same_v<Y, Variable>, "an InOut<T> is given a Variable");
    arguments.update(x.read(), dtype_of_parameter<P>());
  } else if constexpr (role == Role::Real) {
    static_assert(std::is_arithmetic_v<Y>, "a Float is given a number");
    arguments.real(static_cast<double>(x));
  } else if constexpr (role == Role::Integer || role == Role::Flag) {
    static_assert(std::is_integral_v<Y>, "an Int is given an integer, a Bool a bool");
    arguments.integer(static_cast<std::int64_t>(x));
  } else if constexpr (std::is_same_v<Y, Tuned>) {
    arguments.undecided();
  } else {
    using T = typename Parameter<P>::Element;
    static_assert(std::is_convertible_v<const Y&, T>, "a Const<T> is given a T");
    const T value = static_cast<T>(x);
    if constexpr (std::is_floating_point_v<T>) arguments.constant(std::bit_cast<std::int64_t>(static_cast<double>(value)));
    else arguments.constant(static_cast<std::int64_t>(value));
  }
  if constexpr (facts.rank >= 0) {
    const Shape* block = nullptr;
    if constexpr (is_blocked<X>) block = &given.block;
    if constexpr (role == Role::Output) arguments.shaped(facts, x.shape, block);
    else arguments.shaped(facts, arguments.inputs.back().shape(), block);
  }
}

/// Writes the results that are Variables' new values, and gives the others.
template <class P, class X>
void settle(std::vector<Tensor>& results, std::size_t& k, X& x, const Line& where) {
  constexpr Role role = Parameter<P>::facts.role;
  if constexpr (role == Role::Update) {
    if constexpr (is_blocked<std::remove_cvref_t<X>>) x.of->assign(results[k], where);
    else x.assign(results[k], where);
    results.erase(results.begin() + static_cast<std::ptrdiff_t>(k));
  } else if constexpr (role == Role::Output) {
    ++k;
  }
}

}  // namespace language
}  // namespace tegula::tile
