#pragma once
// jit: a function over tensors, traced once per signature and replayed afterwards.

#include <functional>
#include <memory>
#include <tuple>

#include "tegula/graph/variable.h"

namespace tegula {

/// What a jit-ed function keeps.
struct JitOptions {
  /// So many signatures, those used last. 0: as many as hold 1 GiB between calls, and at least eight.
  int signatures = 0;
};

namespace compile {

/// What a jit-ed function remembers; one per function object. Calls from several threads wait for each other (docs/design.md, "Threads").
class JitState {
 public:
  explicit JitState(std::source_location where, JitOptions options = {});
  ~JitState();
  using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  std::vector<Tensor> call(std::span<const Tensor> arguments, const Body& body, int times = 1);
  /// How many times the function was traced, and how many executables are kept.
  int traces() const;
  int executables() const;
  /// How often the executable used last has computed what depends on unchanged Variables only (a copy of the weights in another layout or
  /// dtype, the factors of a batch normalisation): once, and again after one of them was written.
  int refreshes() const;
  /// Bytes of such values, for all signatures together: those alike are shared, but for those in the body of a loop, of which each signature has its own.
  std::size_t kept_bytes() const;
  /// Text of the plan used last: steps, memory, threads.
  std::string print_plan() const;
  /// The plan used last and its tile programs for Graphviz (dot -Tsvg).
  std::string plan_dot() const;
  std::string tile_dot() const;
  /// What the plan used last holds in memory: the peak, the ops and lines whose results make it up, the course over its steps.
  std::string print_memory() const;
  /// What was compiled for the plan used last: CUDA C++ and what each launch takes on a GPU, the executor's steps on the CPU.
  std::string print_kernels() const;
  /// The dtypes and arithmetic of each op of the graph used last: a table.
  std::string print_precision() const;
  /// Text of the flat graph used last.
  std::string print_graph() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What functions may return: nothing, a Tensor, a vector of them, or a pair or tuple of Tensors.
inline std::vector<Tensor> pack(const Tensor& result) { return {result}; }
inline std::vector<Tensor> pack(const std::vector<Tensor>& result) { return result; }
template <class A, class B>
std::vector<Tensor> pack(const std::pair<A, B>& result) {
  return {result.first, result.second};
}
template <class... T>
std::vector<Tensor> pack(const std::tuple<T...>& result) {
  return std::apply([](const auto&... tensors) { return std::vector<Tensor>{tensors...}; }, result);
}
template <class R>
inline constexpr bool kReturnable = std::is_same_v<R, Tensor> || std::is_same_v<R, std::vector<Tensor>>;
template <class... T>
inline constexpr bool kReturnable<std::tuple<T...>> = (std::is_convertible_v<T, Tensor> && ...);
template <class A, class B>
inline constexpr bool kReturnable<std::pair<A, B>> = std::is_convertible_v<A, Tensor> && std::is_convertible_v<B, Tensor>;
template <class R>
R unpack(std::vector<Tensor>& results) {
  if constexpr (std::is_same_v<R, Tensor>) return std::move(results[0]);
  else if constexpr (std::is_same_v<R, std::vector<Tensor>>) return std::move(results);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R{std::move(results[I])...};
    }(std::make_index_sequence<std::tuple_size_v<R>>{});
}

}  // namespace compile

/// A callable made by jit(f). Arguments are Tensors, Variables or numbers (numbers are inputs: a changing learning rate never compiles
/// again); each combination of shapes and dtypes is a signature with an executable of its own (see JitOptions).
template <class F>
class Jit {
 public:
  Jit(F f, JitOptions options, std::source_location where)
      : f_(std::move(f)),
        state_(std::make_unique<compile::JitState>(where, options)) {}

  template <class... Args>
  auto operator()(const Args&... args) {
    return repeat(1, args...);
  }

  /// Calls it so many times with the same arguments and returns the last results: `step.repeat(100)` are a hundred steps of a training whose
  /// Variables say where it is. A GPU gets up to 512 steps of the plan as one CUDA graph, without the 1.5 µs that lie between two graphs.
  /// Throws Error when `times` is less than 1.
  template <class... Args>
  auto repeat(int times, const Args&... args) {
    constexpr bool takes_tensors = std::is_invocable_v<F&, std::conditional_t<true, const Tensor&, Args>...>;
    static_assert(
        takes_tensors,
        "tegula: a jit-ed function takes a Tensor for each argument of the call: numbers become Tensors, so declare them as such. "
        "What must be a number while it is traced (a size, a choice) is captured");
    if constexpr (takes_tensors) return run(times, args...);
  }

  int traces() const { return state_->traces(); }
  int executables() const { return state_->executables(); }
  int refreshes() const { return state_->refreshes(); }
  std::size_t kept_bytes() const { return state_->kept_bytes(); }
  std::string print_plan() const { return state_->print_plan(); }
  std::string plan_dot() const { return state_->plan_dot(); }
  std::string tile_dot() const { return state_->tile_dot(); }
  std::string print_graph() const { return state_->print_graph(); }
  std::string print_memory() const { return state_->print_memory(); }
  std::string print_kernels() const { return state_->print_kernels(); }
  std::string print_precision() const { return state_->print_precision(); }

 private:
  template <class... Args>
  auto run(int times, const Args&... args) {
    using Result = std::invoke_result_t<F&, std::conditional_t<true, const Tensor&, Args>...>;
    static_assert(
        std::is_void_v<Result> || compile::kReturnable<Result>,
        "tegula: a jit-ed function returns nothing, a Tensor, a std::vector<Tensor>, or a pair or tuple of Tensors: a number would be "
        "that of the trace, also at later calls");
    if constexpr (std::is_void_v<Result> || compile::kReturnable<Result>) return call<Result>(times, args...);
  }
  template <class Result, class... Args>
  Result call(int times, const Args&... args) {
    const Tensor arguments[sizeof...(Args) + 1] = {Tensor(args)..., Tensor()};
    auto results = state_->call(
        std::span(arguments, sizeof...(Args)),
        [&](std::span<const Tensor> tensors) {
          return [&]<std::size_t... I>(std::index_sequence<I...>) {
            if constexpr (std::is_void_v<Result>) {
              f_(tensors[I]...);
              return std::vector<Tensor>();
            } else {
              return compile::pack(f_(tensors[I]...));
            }
          }(std::make_index_sequence<sizeof...(Args)>{});
        },
        times);
    if constexpr (!std::is_void_v<Result>) return compile::unpack<Result>(results);
  }

  F f_;
  std::unique_ptr<compile::JitState> state_;
};

/// f, traced at the first call with each signature and compiled as one program; later calls skip the building. In the trace:
/// Variables may be read and assigned (all writes are committed together after the run); other captured values and Tensors are
/// constants; item(), print() and creating a Variable are errors at the user's line. The calls 2, 4, 16, 256, … of a signature trace again,
/// and a difference between the two graphs (a captured number or Tensor that changed) is an error naming both lines. Between these calls
/// such a change is not seen; with TEGULA_CHECK=jit in the environment every call is compared.
template <class F>
Jit<F> jit(F f, JitOptions options, std::source_location where = std::source_location::current()) {
  return Jit<F>(std::move(f), options, where);
}
template <class F>
Jit<F> jit(F f, std::source_location where = std::source_location::current()) {
  return Jit<F>(std::move(f), JitOptions(), where);
}

}  // namespace tegula
