#pragma once
// Kernels in the tile language as functions over tensors: tile::jit("name", lambda) (tile/language/).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/ops/tile_at_once.h"
#include "tegula/ops/tile_parameters.h"
#include "tegula/ops/tile_tune.h"
#include "tegula/tile/language/control.h"
#include "tegula/tile/language/products.h"
#include "tegula/tile/language/random.h"
#include "tegula/tile/language/shapes.h"

namespace tegula::tile {

/// The arguments of a gradient function. tensors: of Ptr and InOut parameters; results: the launch's results; gradients: of those.
struct TileGradient {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& results;
  const std::vector<Tensor>& gradients;
  const TileLaunch& launch;
  Line where;  // the launch's line
};
using TileGradientFunction = std::function<std::vector<Tensor>(const TileGradient&)>;

namespace language {

/// The results, as functions of the inputs that have this gradient.
std::vector<Tensor> with_gradient(const std::string& name, std::vector<Tensor> results, const Arguments& arguments,
                                  const TileGradientFunction& gradient, const Line& where);
/// The gradient that another kernel gives over the same grid, numbers and constants: its pointers are the inputs, perhaps the results, and their gradients;
/// its results, which begin as zeros, the gradients of the inputs of float dtypes.
TileGradientFunction gradient_by(std::string name, TileKernel kernel, Runner run, int pointers, int results);

template <class S, std::size_t I>
using ParameterOf = std::tuple_element_t<I, typename S::Parameters>;
/// True if the parameters from `first` on are Consts.
template <std::size_t N>
constexpr bool all_constants(const ParameterFacts (&facts)[N], std::size_t first) {
  for (std::size_t i = first; i < N; ++i)
    if (facts[i].role != Role::Constant) return false;
  return true;
}

/// Calls the lambda; one that captures nothing can be made anew from its type.
template <class F>
void run(Builder& b, const TileArguments& a, Machine* machine) {
  Trace trace(b, machine);
  Cursor cursor{a};
  const Line where = b.location();
  [&]<class... P>(std::tuple<P...>*) {
    std::tuple<P...> parameters{next<P>(cursor, where)...};  // braces: in order
    if (cursor.constant < a.constants.size()) trace.set_hints(KernelHints::of(a.constants[cursor.constant]));  // behind those of parameters
    std::apply(F{}, parameters);
  }(static_cast<typename Signature<F>::Parameters*>(nullptr));
  trace.finish();
}
/// The function that tile_kernel wants.
template <class F>
void record(Builder& b, const TileArguments& a) {
  run<F>(b, a, nullptr);
}

}  // namespace language

/// A kernel: called with a grid and one argument for each parameter of its lambda, it gives the tensors of its Out parameters. The call is a node of the graph:
/// jit captures it, gradients flow through it where it has one, it runs on every device.
template <class F>
class Kernel {
  static_assert(std::is_empty_v<F>, "a kernel captures nothing: what it depends on is in its parameters");
  using Signature = language::Signature<F>;

 public:
  explicit Kernel(std::string name) : name_(std::move(name)) {}

  template <class... A>
  std::vector<Tensor> operator()(const Grid& grid, A&&... arguments) const {
    static_assert(sizeof...(A) <= Signature::size, "at most one argument for each parameter of the kernel");
    static_assert(language::all_constants(Signature::facts, sizeof...(A)),
                  "one argument for each parameter of the kernel; Consts at the end may be tuned");
    language::Arguments taken(name_, grid.sizes, grid.where);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      (language::take<language::ParameterOf<Signature, I>>(taken, arguments), ...);
      for (std::size_t i = sizeof...(A); i < Signature::size; ++i) taken.undecided();
      if (choices_ || !taken.waits().empty() || grid.of)
        language::decide(taken, grid, Signature::facts, choices_.get(), &language::record<F>, !check_ && !language::runs_at_once());
      std::vector<Tensor> results =
          check_ || language::runs_at_once()
              ? language::run_at_once(name_, &language::run<F>, taken.inputs, taken.launch, check_.value_or(CheckOptions()), grid.where)
              : tile_kernel(name_, &language::record<F>, taken.inputs, taken.launch, grid.where);
      if (gradient_) results = language::with_gradient(name_, std::move(results), taken, gradient_, grid.where);
      std::size_t k = 0;
      (language::settle<language::ParameterOf<Signature, I>>(results, k, arguments, grid.where), ...);
      return results;
    }(std::make_index_sequence<sizeof...(A)>());
  }

  /// The same kernel, whose Consts the fastest of these configurations gives: tile_tune.h says when and how it is measured.
  Kernel tune(std::vector<Config> configs, TuneOptions options = {}) const {
    Kernel kernel = *this;
    kernel.choices_ = language::with_configs(choices_.get(), std::move(configs), std::move(options));
    return kernel;
  }
  /// The same kernel, one Const of which is computed from the launch: .given("EVEN_K", [](const Launch& l) { return l["K"] % l["BK"] == 0; }). Later ones see
  /// those before. Triton's heuristics.
  Kernel given(std::string constant, Heuristic value) const {
    Kernel kernel = *this;
    kernel.choices_ = language::with_heuristic(choices_.get(), std::move(constant), std::move(value));
    return kernel;
  }

  /// The same kernel, run on the host one instance after another and one word at a time, so that a debugger can stop in it. Its memory errors are an
  /// Error (tile_at_once.h). Not in a trace. TEGULA_CHECK=tile in the environment does this for all kernels.
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
    for (const language::ParameterFacts& one : Signature::facts)
      pointers += one.role == language::Role::Input, results += one.role == language::Role::Output;
    return language::gradient_by(name_, &language::record<F>, &language::run<F>, pointers, results);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  TileGradientFunction gradient_;
  std::optional<CheckOptions> check_;
  std::shared_ptr<const language::Choices> choices_;
};

/// A kernel of a lambda that captures nothing; its parameters are Ptr, Out, InOut, TensorOf, Descriptor, Int, Float, Bool and Const.
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
