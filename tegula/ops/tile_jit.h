#pragma once
// Kernels in the tile language as functions over tensors: tile::jit("name", lambda) (tile/language/).

#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/tile_at_once.h"
#include "tegula/ops/tile_kernel.h"
#include "tegula/tile/language/control.h"
#include "tegula/tile/language/descriptor.h"
#include "tegula/tile/language/shapes.h"

namespace tegula::tile {

/// A result of a launch, for a parameter Out<T>, of that dtype; with a dtype of its own for Out<Any>.
struct OutShape {
  Shape shape;
  std::optional<tegula::Number> fill = {};
  std::optional<DType> dtype = {};
};
inline OutShape out(Shape shape) { return {std::move(shape)}; }
inline OutShape out(Shape shape, tegula::Number fill) { return {std::move(shape), fill}; }

/// Instances along up to three axes, and the line of the launch.
struct Grid {
  Grid(std::initializer_list<std::int64_t> sizes, Line where = Line::current()) : sizes(sizes), where(where) {}
  Grid(const Dims& sizes, Line where = Line::current()) : sizes(sizes), where(where) {}
  Dims sizes;
  Line where;
};

/// What a gradient is computed from. tensors: of Ptr and InOut parameters; results: what the launch gave; gradients: of those.
struct TileGradient {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& results;
  const std::vector<Tensor>& gradients;
  const TileLaunch& launch;
  Line where;  // of the launch
};
using TileGradientFunction = std::function<std::vector<Tensor>(const TileGradient&)>;

namespace language {

enum class Role : std::uint8_t { Input, Output, Update, Integer, Real, Flag, Constant };

template <class P>
struct Parameter;
template <class T>
struct Parameter<Ptr<T>> {
  static constexpr Role role = Role::Input;
  using Element = T;
};
template <class T>
struct Parameter<Out<T>> {
  static constexpr Role role = Role::Output;
  using Element = T;
};
template <class T>
struct Parameter<InOut<T>> {
  static constexpr Role role = Role::Update;
  using Element = T;
};
template <>
struct Parameter<Int> {
  static constexpr Role role = Role::Integer;
};
template <>
struct Parameter<Float> {
  static constexpr Role role = Role::Real;
};
template <>
struct Parameter<Bool> {
  static constexpr Role role = Role::Flag;
};
template <class T, FixedText Name>
struct Parameter<Const<T, Name>> {
  static constexpr Role role = Role::Constant;
  static constexpr const char* name = Name.letters;
  using Element = T;
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class... P>
struct Signature<void (F::*)(P...) const> {
  using Parameters = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr Role roles[] = {Parameter<std::remove_cvref_t<P>>::role...};
};

/// What a kernel is launched with, one parameter after the other. Errors name the parameter.
class Arguments {
 public:
  Arguments(const std::string& name, const Grid& grid);
  void input(const Tensor& x, std::optional<DType> dtype);
  void output(const OutShape& shape, std::optional<DType> dtype);
  void update(const Tensor& x, std::optional<DType> dtype);
  void integer(std::int64_t value) { ++number_, launch.numbers.push_back(value); }
  void real(double value) { ++number_, launch.reals.push_back(value); }
  void constant(std::int64_t bits) { ++number_, launch.constants.push_back(bits); }

  TileLaunch launch;
  std::vector<Tensor> inputs;

 private:
  void require(const std::string& what, std::optional<DType> got, std::optional<DType> wanted) const;
  const std::string& name_;
  Line where_;
  int number_ = 0;
};

/// The results, as functions of the inputs that have this gradient.
std::vector<Tensor> with_gradient(const std::string& name, std::vector<Tensor> results, const Arguments& arguments,
                                  const TileGradientFunction& gradient, const Line& where);
/// The gradient that another kernel gives over the same grid, numbers and constants: its pointers are the inputs, perhaps the results, and their gradients;
/// its results, which begin as zeros, the gradients of the inputs of float dtypes.
TileGradientFunction gradient_by(std::string name, TileKernel kernel, Runner run, int pointers, int results);

/// Values of the parameters while the kernel is recorded.
struct Cursor {
  const TileArguments& arguments;
  std::size_t input = 0, output = 0, number = 0, real = 0, constant = 0;
};
Content next_input(Cursor& cursor);
Content next_output(Cursor& cursor);
Content next_number(Cursor& cursor);
Content next_real(Cursor& cursor);
template <class P>
P next(Cursor& cursor, const Line& where) {
  constexpr Role role = Parameter<P>::role;
  if constexpr (role == Role::Input) return P(next_input(cursor), where);
  else if constexpr (role == Role::Output) return P(next_output(cursor), where);
  else if constexpr (role == Role::Update) return ++cursor.input, P(next_output(cursor), where);
  else if constexpr (role == Role::Integer) return P(next_number(cursor), where);
  else if constexpr (role == Role::Real) return P(next_real(cursor), where);
  else if constexpr (role == Role::Flag) return P(Content{next_number(cursor).value != 0, boolean}, where);
  else {
    using T = typename Parameter<P>::Element;
    const std::int64_t bits = cursor.arguments.constants[cursor.constant++];
    if constexpr (std::is_floating_point_v<T>) return P{static_cast<T>(std::bit_cast<double>(bits))};
    else return P{static_cast<T>(bits)};
  }
}

/// Calls the lambda; one that captures nothing can be made anew from its type.
template <class F>
void run(Builder& b, const TileArguments& a, Machine* machine) {
  Trace trace(b, machine);
  Cursor cursor{a};
  const Line where = b.location();
  [&]<class... P>(std::tuple<P...>*) {
    std::tuple<P...> parameters{next<P>(cursor, where)...};  // braces: in order
    std::apply(F{}, parameters);
  }(static_cast<typename Signature<F>::Parameters*>(nullptr));
  trace.finish();
}
/// The function that tile_kernel wants.
template <class F>
void record(Builder& b, const TileArguments& a) {
  run<F>(b, a, nullptr);
}

template <class P>
std::optional<DType> dtype_of_parameter() {
  using T = typename Parameter<P>::Element;
  if constexpr (std::is_same_v<T, Any>) return std::nullopt;
  else return dtype_of<T>();
}

template <class P, class X>
void take(Arguments& arguments, const X& x) {
  constexpr Role role = Parameter<P>::role;
  if constexpr (role == Role::Input) {
    static_assert(std::is_convertible_v<const X&, Tensor>, "a Ptr<T> is given a Tensor or a Variable");
    arguments.input(x, dtype_of_parameter<P>());
  } else if constexpr (role == Role::Output) {
    static_assert(std::is_same_v<X, OutShape>, "an Out<T> is given tile::out(shape) or tile::out(shape, fill)");
    arguments.output(x, dtype_of_parameter<P>());
  } else if constexpr (role == Role::Update) {
    static_assert(std::is_same_v<X, Variable>, "an InOut<T> is given a Variable");
    arguments.update(x.read(), dtype_of_parameter<P>());
  } else if constexpr (role == Role::Real) {
    static_assert(std::is_arithmetic_v<X>, "a Float is given a number");
    arguments.real(static_cast<double>(x));
  } else if constexpr (role == Role::Integer || role == Role::Flag) {
    static_assert(std::is_integral_v<X>, "an Int is given an integer, a Bool a bool");
    arguments.integer(static_cast<std::int64_t>(x));
  } else {
    using T = typename Parameter<P>::Element;
    static_assert(std::is_convertible_v<const X&, T>, "a Const<T> is given a T");
    const T value = static_cast<T>(x);
    if constexpr (std::is_floating_point_v<T>) arguments.constant(std::bit_cast<std::int64_t>(static_cast<double>(value)));
    else arguments.constant(static_cast<std::int64_t>(value));
  }
}

/// Writes the results that are Variables' new values, and gives the others.
template <class P, class X>
void settle(std::vector<Tensor>& results, std::size_t& k, X& x, const Line& where) {
  constexpr Role role = Parameter<P>::role;
  if constexpr (role == Role::Update) {
    x.assign(results[k], where);
    results.erase(results.begin() + static_cast<std::ptrdiff_t>(k));
  } else if constexpr (role == Role::Output) {
    ++k;
  }
}

}  // namespace language

/// A kernel: called with a grid and one argument for each parameter of its lambda, it gives the tensors of its Out parameters. It is a node of the graph:
/// jit captures it, gradients flow through it where it has one, it runs on every device.
template <class F>
class Kernel {
  static_assert(std::is_empty_v<F>, "a kernel captures nothing: what it depends on is in its parameters");
  using Signature = language::Signature<F>;

 public:
  explicit Kernel(std::string name) : name_(std::move(name)) {}

  template <class... A>
  std::vector<Tensor> operator()(const Grid& grid, A&&... arguments) const {
    static_assert(std::tuple_size_v<typename Signature::Parameters> == sizeof...(A), "one argument for each parameter of the kernel");
    language::Arguments taken(name_, grid);
    return [&]<class... P>(std::tuple<P...>*) {
      (language::take<P>(taken, arguments), ...);
      std::vector<Tensor> results =
          check_ || language::runs_at_once()
              ? language::run_at_once(name_, &language::run<F>, taken.inputs, taken.launch, check_.value_or(CheckOptions()), grid.where)
              : tile_kernel(name_, &language::record<F>, taken.inputs, taken.launch, grid.where);
      if (gradient_) results = language::with_gradient(name_, std::move(results), taken, gradient_, grid.where);
      std::size_t k = 0;
      (language::settle<P>(results, k, arguments, grid.where), ...);
      return results;
    }(static_cast<typename Signature::Parameters*>(nullptr));
  }

  /// The same kernel, whose instances run one after the other on the host, each word at once: stop in it with a debugger. What it does wrong with memory is an
  /// Error (tile_at_once.h). Not in a trace. TEGULA_CHECK=tile in the environment does so for all kernels.
  Kernel check(CheckOptions options = {}) const {
    Kernel kernel = *this;
    kernel.check_ = options;
    return kernel;
  }
  /// The same kernel, through which gradients flow: f gives one for each input, an empty Tensor where none flows.
  Kernel gradient(TileGradientFunction f) const {
    Kernel kernel = *this;
    kernel.gradient_ = std::move(f);
    return kernel;
  }
  /// By a kernel over the same grid, with the same Int, Float and Const parameters. Its Ptr parameters are the inputs of this one, then the results of this
  /// one (or none of them), then the gradients of the results; its Out parameters the gradients of the inputs of float dtypes, which begin as zeros.
  template <class G>
  Kernel gradient(const Kernel<G>& kernel) const {
    return gradient(kernel.as_gradient());
  }
  TileGradientFunction as_gradient() const {
    int pointers = 0, results = 0;
    for (const language::Role role : Signature::roles) pointers += role == language::Role::Input, results += role == language::Role::Output;
    return language::gradient_by(name_, &language::record<F>, &language::run<F>, pointers, results);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  TileGradientFunction gradient_;
  std::optional<CheckOptions> check_;
};

/// A kernel of a lambda that captures nothing; its parameters are Ptr, Out, InOut, Int, Float, Bool and Const.
///
///     namespace kernels {
///     using namespace tegula::tile;
///     const auto add = jit("add", [](Ptr<float> x, Ptr<float> y, Out<float> z, Int n, Const<int, "BLOCK"> BLOCK) {
///       auto i = program_id(0) * BLOCK + arange(0, BLOCK);
///       auto mask = i < n;
///       store(z + i, load(x + i, mask) + load(y + i, mask), mask);
///     });
///     }
///     Tensor z = kernels::add({divide_up(n, 1024)}, x, y, tile::out({n}), n, 1024)[0];
template <class F>
Kernel<F> jit(std::string name, F) {
  return Kernel<F>(std::move(name));
}

}  // namespace tegula::tile
