#pragma once
// Plan files: a graph file with one device's plan of the graph, so that another program runs it without tracing, planning or compiling
// (docs/graph_files.md).

#include <memory>
#include <string>
#include <vector>

#include "tegula/formats/graph_file.h"

namespace tegula {

namespace formats {

void save_with_plan(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names,
                    std::span<const Tensor> examples, const Body& body);

}  // namespace formats

/// save_plan("net.plan", net, x): the content of save_graph, and the default device's plan for it: its steps, tile programs and calls, the places of values,
/// and the values that are computed from Variables once and kept (weights in another layout). Nothing runs. Throws the errors of save_graph, and Error for
/// a plan that a file cannot hold: with calls of user ops, or user kernels that check.
template <class F, class... Examples>
void save_plan(const GraphPath& path, const GraphFileOptions& options, F&& f, const Examples&... examples) {
  formats::save_by(formats::save_with_plan, path, options, f, examples...);
}
template <class F, class... Examples>
requires(!std::is_same_v<std::decay_t<F>, GraphFileOptions>)
void save_plan(const GraphPath& path, F&& f, const Examples&... examples) {
  save_plan(path, GraphFileOptions(), f, examples...);
}

/// A function from a plan file. The function is compiled, as jit's are; in the trace of a jit-ed function, with TEGULA_EAGER, and if its plan does not fit
/// the machine, it is the graph of the file. Copies share plan and Variables.
class PlanFunction {
 public:
  /// The results. Throws Error unless there is a tensor of its dtype and shape for each of inputs().
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Line where = Line::current()) const;
  /// The result of a function of one or two arguments that has one.
  Tensor operator()(Arg a, Line where = Line::current()) const { return only({a}, where); }
  Tensor operator()(Arg a, Arg b, Line where = Line::current()) const { return only({a, b}, where); }

  const std::vector<GraphValue>& inputs() const;
  const std::vector<GraphValue>& outputs() const;
  /// Its Variables, under the names that they were saved with.
  const Parameters& state() const;
  /// The metadata that save_plan was given.
  const io::Metadata& metadata() const;
  /// True if it runs the file's plan; false if the first call plans (or has planned) the file's graph.
  bool from_file() const;
  /// The number of times it was traced: 0 while the plan of the file serves.
  int traces() const;
  /// The texts that a jit-ed function has; empty before the first call where the plan is not the file's.
  std::string print_plan() const;
  std::string print_memory() const;
  std::string print_kernels() const;

  struct State;
  explicit PlanFunction(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  Tensor only(const std::vector<Arg>& x, const Line& where) const;
  std::shared_ptr<State> state_;
};

/// Loads a plan for the default device. If the file's plan is for another machine, thread count or version of Tegula, this warns once, and the first call plans
/// the graph again. Throws Error for a file that cannot be read, is no plan file, or is damaged: numbers, sizes and storage places are checked. The programs
/// are not: a plan file is as powerful as a program, so load only those from a trusted source. load_graph is safe for any graph.
PlanFunction load_plan(const std::string& path);

/// True if it is a safetensors file with a plan; false for a file that cannot be read.
bool is_plan_file(const std::string& path);

}  // namespace tegula
