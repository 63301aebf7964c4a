#pragma once
// jit: a function over tensors, traced once per signature and replayed afterwards.

#include <functional>
#include <memory>
#include <tuple>

#include "tegula/graph/structure.h"
#include "tegula/graph/variable.h"

namespace tegula {

/// The cache of a jit-ed function.
struct JitOptions {
  /// The number of signatures kept, least recently used dropped first. 0: as many as hold 1 GiB between calls, at least eight.
  int signatures = 0;
  /// The number of signatures, the first ones, whose plans know every size, where kernels take long to be made; plans of later ones know some
  /// (docs/design.md, "Signatures"), and their sums may end in other last bits. A function whose sizes are known beforehand says how many there are.
  int exact = 2;
};

namespace compile {

/// A function's result: its tensors, and its form (graph/structure.h). Without a form it is a Tensor or a list.
struct Results {
  Results(std::vector<Tensor> list = {}, std::shared_ptr<const Words> made = nullptr) : tensors(std::move(list)), form(std::move(made)) {}
  Results(graph::Flat flat);
  const std::uint64_t* words() const;
  std::vector<Tensor> tensors;
  std::shared_ptr<const Words> form;
};

struct Entry;

/// The state of one jit-ed function object. Calls from several threads run one after another (docs/design.md, "Threads").
class JitState {
 public:
  explicit JitState(Line where, JitOptions options = {});
  ~JitState();
  using Body = std::function<Results(std::span<const Tensor>)>;
  /// `kind` distinguishes calls whose arguments hold the same tensors in different structures.
  Results call(std::span<const Tensor> arguments, std::span<const std::uint64_t> kind, const Body& body, int times);
  std::vector<Tensor> call(std::span<const Tensor> arguments, const Body& body, int times = 1) {
    return call(arguments, {}, body, times).tensors;
  }
  /// Traces and compiles the function for arguments like these (no values needed) and computes its kept values. Does not run it.
  const Entry& prepare(std::span<const Tensor> arguments, const Body& body);
  /// Adds an entry read from a file (the recording and the executable) for calls with arguments like these.
  void add(std::unique_ptr<Entry> entry, std::span<const Tensor> arguments);
  /// How many times the function was traced, and how many executables are kept.
  int traces() const;
  int executables() const;
  /// How often the executable used last has computed its kept values, which depend on unchanged Variables only (a copy of the weights in
  /// another layout or dtype, the factors of a batch normalisation): once, and again after one of the Variables was written.
  int refreshes() const;
  /// Bytes of the kept values of all signatures. Equal values are shared, except in loop bodies, where each signature has its own.
  std::size_t kept_bytes() const;
  /// Text of the plan used last: steps, memory, threads.
  std::string print_plan() const;
  /// A table of steps with milliseconds, shares and lines. Runs the last plan a few more times with the last call's arguments, writing to copies, so
  /// the program's state does not change. debug_print prints in these runs, and all ranks must call this together.
  std::string print_times() const;
  /// The plan used last and its tile programs for Graphviz (dot -Tsvg).
  std::string plan_dot() const;
  std::string tile_dot() const;
  /// Memory use of the plan used last: the peak, the ops and lines whose results make it up, and the bytes per step.
  std::string print_memory() const;
  /// The kernels compiled for the plan used last: CUDA C++ and each launch's resources on a GPU, the executor's steps on the CPU.
  std::string print_kernels() const;
  /// The dtypes and arithmetic of each op of the graph used last: a table.
  std::string print_precision() const;
  /// Text of the flat graph used last.
  std::string print_graph() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The type that a jit-ed function receives for an argument: a structure stays as it is, a Variable or a number becomes a Tensor.
template <class A>
using Traced = std::conditional_t<graph::is_structure<A>(), A, Tensor>;
/// A variable whose address identifies the list of types.
template <class... T>
inline constexpr char kTypes = 0;
Words kind_of(const char* types, const Words& form);

}  // namespace compile

/// A callable made by jit(f). Arguments are Tensors, Variables or numbers (numbers are inputs: a changing learning rate never compiles
/// again), or structures of Tensors: lists, arrays, pairs, tuples, plain structs, and these of each other, whose empty Tensors stay empty. Each
/// combination of shapes, dtypes and lengths of lists is a signature with an executable of its own (see JitOptions). The result is nothing, a
/// Tensor, or a structure of them.
template <class F>
class Jit {
 public:
  Jit(F f, JitOptions options, Line where) : f_(std::move(f)), state_(std::make_unique<compile::JitState>(where, options)) {}

  template <class... Args>
  auto operator()(const Args&... args) {
    return repeat(1, args...);
  }
  /// For a function of one list: f({a, b}).
  auto operator()(const std::vector<Tensor>& tensors) { return repeat(1, tensors); }

  /// Calls the function `times` times with the same arguments and returns the last results: `step.repeat(100)` runs a hundred training steps whose
  /// state is in Variables. On a GPU up to 512 steps of the plan are one CUDA graph, which saves the 1.5 µs between two graphs.
  /// Throws Error when `times` is less than 1.
  template <class... Args>
  auto repeat(int times, const Args&... args) {
    constexpr bool tensors = (std::is_constructible_v<compile::Traced<Args>, const Args&> && ...);
    constexpr bool takes_tensors = tensors && std::is_invocable_v<F&, const compile::Traced<Args>&...>;
    static_assert(
        takes_tensors,
        "tegula: a jit-ed function takes a Tensor for each argument of the call, or a list, pair, tuple or plain struct of Tensors "
        "where the argument is one: numbers become Tensors, so declare them as such. What must be a number while it is traced (a "
        "size, a choice) is captured");
    if constexpr (takes_tensors) return run(times, args...);
  }

  int traces() const { return state_->traces(); }
  int executables() const { return state_->executables(); }
  int refreshes() const { return state_->refreshes(); }
  std::size_t kept_bytes() const { return state_->kept_bytes(); }
  std::string print_plan() const { return state_->print_plan(); }
  std::string print_times() const { return state_->print_times(); }
  std::string plan_dot() const { return state_->plan_dot(); }
  std::string tile_dot() const { return state_->tile_dot(); }
  std::string print_graph() const { return state_->print_graph(); }
  std::string print_memory() const { return state_->print_memory(); }
  std::string print_kernels() const { return state_->print_kernels(); }
  std::string print_precision() const { return state_->print_precision(); }

 private:
  template <class... Args>
  auto run(int times, const Args&... args) {
    using Result = std::decay_t<std::invoke_result_t<F&, const compile::Traced<Args>&...>>;
    constexpr bool returnable = std::is_void_v<Result> || graph::is_structure<Result>();
    static_assert(returnable,
                  "tegula: a jit-ed function returns nothing, a Tensor, or a std::vector, pair, tuple or plain struct of Tensors: a number "
                  "would be that of the trace, also at later calls");
    if constexpr (returnable) return call<Result>(times, args...);
  }
  template <class Result, class... Args>
  Result call(int times, const Args&... args) {
    if constexpr ((std::is_same_v<compile::Traced<Args>, Tensor> && ...)) {
      const Tensor arguments[sizeof...(Args) + 1] = {Tensor(args)..., Tensor()};
      const auto body = [&](std::span<const Tensor> tensors) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          return traced<Result>(tensors[I]...);
        }(std::make_index_sequence<sizeof...(Args)>());
      };
      return result_of<Result>(state_->call(std::span(arguments, sizeof...(Args)), {}, body, times));
    } else {
      using Arguments = std::tuple<compile::Traced<Args>...>;
      const graph::Flat flat = graph::flatten_structure(Arguments(args...));
      const Words kind = compile::kind_of(&compile::kTypes<compile::Traced<Args>...>, flat.form);
      const auto body = [&](std::span<const Tensor> tensors) {
        return std::apply([&](const auto&... arguments) { return traced<Result>(arguments...); },
                          graph::build_structure<Arguments>(tensors.data(), flat.form.data()));
      };
      return result_of<Result>(state_->call(flat.tensors, kind, body, times));
    }
  }
  template <class Result, class... Arguments>
  compile::Results traced(const Arguments&... arguments) {
    if constexpr (std::is_void_v<Result>) {
      f_(arguments...);
      return {};
    } else {
      return graph::flatten_structure<Result>(f_(arguments...));
    }
  }
  template <class Result>
  static Result result_of(compile::Results results) {
    if constexpr (!std::is_void_v<Result>) return graph::build_structure<Result>(results.tensors.data(), results.words());
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
Jit<F> jit(F f, JitOptions options, Line where = Line::current()) {
  return Jit<F>(std::move(f), options, where);
}
template <class F>
Jit<F> jit(F f, Line where = Line::current()) {
  return Jit<F>(std::move(f), JitOptions(), where);
}

}  // namespace tegula
