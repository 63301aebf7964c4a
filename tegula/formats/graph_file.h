#pragma once
// Graph files: a traced function with its values, in one file that another program loads and calls (docs/graph_files.md).

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/formats/record.h"
#include "tegula/io/safetensors.h"
#include "tegula/nn/module.h"

namespace tegula {

struct GraphFileOptions {
  /// Names of the Variables: nn::state(net). Without them a module's own are taken, and the ones under which parameters(net) listed them last.
  Parameters names = {};
  /// Names of the arguments and of the results, in order; without them "x0", "x1", … and "y0", …
  std::vector<std::string> inputs = {}, outputs = {};
  /// Texts by name, as save has them.
  io::Metadata metadata = {};
  /// Save also the gradients of custom functions and of composites that have their own (softmax, norms). Without them the graph is
  /// for inference only, and smaller.
  bool gradients = true;
};

/// A path, and the line of the call.
struct GraphPath {
  template <class T>
  requires std::convertible_to<const T&, std::string>
  GraphPath(const T& text, Line line = Line::current()) : path(text),
                                                          where(line) {}
  std::string path;
  Line where;
};

namespace formats {

void save(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names, std::span<const Tensor> examples,
          const Body& body);

template <class F>
Parameters names_of(const F& f) {
  if constexpr (nn::Module<F> && (std::is_aggregate_v<F> || requires { F::fields; })) return nn::state(f);
  else return {};
}

template <class Result, class F, class... Arguments>
compile::Results results_of(F& f, const Arguments&... arguments) {
  if constexpr (std::is_void_v<Result>) {
    f(arguments...);
    return {};
  } else {
    return graph::flatten_structure<Result>(f(arguments...));
  }
}

/// `save` of the function over a list of tensors.
template <class F, class... Examples>
void save_by(decltype(save)& save, const GraphPath& path, const GraphFileOptions& options, F& f, const Examples&... examples) {
  using Arguments = std::tuple<compile::Traced<Examples>...>;
  using Result = std::decay_t<std::invoke_result_t<F&, const compile::Traced<Examples>&...>>;
  const graph::Flat flat = graph::flatten_structure(Arguments(examples...));
  const auto body = [&](std::span<const Tensor> tensors) {
    return std::apply([&](const auto&... arguments) { return results_of<Result>(f, arguments...); },
                      graph::build_structure<Arguments>(tensors.data(), flat.form.data()));
  };
  save(path, options, names_of(f), flat.tensors, body);
}

}  // namespace formats

/// save_graph("net.graph", net, x): traces f(examples…), as jit does, and writes its computation: its ops with their attributes, shapes, dtypes and lines, the
/// Variables that it reads and writes with the values that they have now, and captured tensors. Only shapes and dtypes of the examples matter, and they
/// are those of every later call. f: a module, a lambda, a jit-ed function, over Tensors or structures of them; its results are a list in the file, in the order of
/// the structure's fields. A whole training step can be saved. The file is written atomically.
/// Throws Error for functions that a file cannot hold: with collectives, ops that known_ops() lacks, or Variables that ranks split.
template <class F, class... Examples>
void save_graph(const GraphPath& path, const GraphFileOptions& options, F&& f, const Examples&... examples) {
  formats::save_by(formats::save, path, options, f, examples...);
}
template <class F, class... Examples>
requires(!std::is_same_v<std::decay_t<F>, GraphFileOptions>)
void save_graph(const GraphPath& path, F&& f, const Examples&... examples) {
  save_graph(path, GraphFileOptions(), f, examples...);
}

/// An argument or a result of a loaded graph.
struct GraphValue {
  std::string name;
  DType dtype;
  Shape shape;
};

/// A function from a graph file. A call makes the nodes that the saved function made: they are computed when their values are needed, can be
/// differentiated, with respect to arguments and to parameters(f), and be part of larger functions. jit(f) compiles them once. Copies share the Variables.
class GraphFunction {
 public:
  /// The results. Throws Error unless there is a tensor of its dtype and shape for each of inputs().
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Line where = Line::current()) const;
  /// The result of a function of up to four arguments that has one: Tensor y = f(x). Throws Error for one that has none or several, of which f({x}) gives
  /// a list.
  template <class A>
  requires std::convertible_to<const A&, Arg>
  Tensor operator()(const A& a, Line where = Line::current()) const {
    return only({Arg(a, where)}, where);
  }
  template <class A, class B>
  requires(std::convertible_to<const A&, Arg> && std::convertible_to<const B&, Arg>)
  Tensor operator()(const A& a, const B& b, Line where = Line::current()) const {
    return only({Arg(a, where), Arg(b, where)}, where);
  }
  template <class A, class B, class C>
  requires(std::convertible_to<const A&, Arg> && std::convertible_to<const B&, Arg> && std::convertible_to<const C&, Arg>)
  Tensor operator()(const A& a, const B& b, const C& c, Line where = Line::current()) const {
    return only({Arg(a, where), Arg(b, where), Arg(c, where)}, where);
  }
  template <class A, class B, class C, class D>
  requires(std::convertible_to<const A&, Arg> && std::convertible_to<const B&, Arg> && std::convertible_to<const C&, Arg> &&
           std::convertible_to<const D&, Arg>)
  Tensor operator()(const A& a, const B& b, const C& c, const D& d, Line where = Line::current()) const {
    return only({Arg(a, where), Arg(b, where), Arg(c, where), Arg(d, where)}, where);
  }

  const std::vector<GraphValue>& inputs() const;
  const std::vector<GraphValue>& outputs() const;
  /// Its Variables, under the names that they were saved with.
  const Parameters& state() const;
  /// True if a call writes the Variable.
  bool writes(const Parameter& variable) const;
  /// The metadata that save_graph was given.
  const io::Metadata& metadata() const;
  /// The number of its nodes.
  std::size_t size() const;

  struct State;
  explicit GraphFunction(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  Tensor only(const std::vector<Arg>& x, const Line& where) const;
  std::shared_ptr<const State> state_;
};

/// The Variables of a float dtype that the function does not write itself: those to train after loading.
Parameters parameters(const GraphFunction& f);

struct LoadGraphOptions {
  /// Accept kernels of the file's author (tile_kernel, cuda_kernel): code whose memory accesses nobody can check.
  bool tile_kernels = false;
};

/// Throws Error for a file that cannot be read, is no graph file, is damaged, or has ops that known_ops() lacks. The whole content is checked, so
/// an untrusted file is safe, unless it has kernels of its own, which are refused until `tile_kernels` allows them.
GraphFunction load_graph(const std::string& path, const LoadGraphOptions& options = {});

/// True if it is a safetensors file with a graph; false for a file that cannot be read.
bool is_graph_file(const std::string& path);

/// The name of the metadata that makes a safetensors file a graph file.
inline constexpr std::string_view kGraphKey = "tegula.graph";

}  // namespace tegula
