#pragma once
// Functions and models into ONNX files, which other runtimes execute (docs/onnx.md).

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/formats/graph_file.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {

/// An axis of an argument that may have any size.
struct OpenAxis {
  int input = 0, axis = 0;
  std::string name = "N";  // axes of one name have the same size
};

struct SaveOptions {
  /// The operator set, 17 to 24. Older runtimes read older ones; gelu is an operator from 20 on, group_norm from 21, attention and rms_norm from 23.
  std::int64_t opset = 21;
  /// Axes that may have any size when the file is used. The function is traced with other sizes there, too: what it does must not depend on them.
  std::vector<OpenAxis> open = {};
  /// Names of the arguments and of the results, in order; without them "x0", "x1", … and "y0", …
  std::vector<std::string> inputs = {}, outputs = {};
  /// Names of the Variables: nn::state(net). Without them a module's own are taken, and the ones under which parameters(net) listed them last.
  Parameters names = {};
  /// The bytes of parameters above which these lie in a file beside the model (WriteOptions).
  std::uint64_t external_above = WriteOptions().external_above;
};

namespace detail {

File file_of(const GraphPath& path, const SaveOptions& options, const Parameters& module_names, std::span<const Tensor> examples,
             const formats::Body& body);

template <class F>
Parameters names_of(const F& f) {
  if constexpr (requires {
                  { f.state() } -> std::convertible_to<Parameters>;
                })
    return f.state();
  else if constexpr (requires(F& module, nn::Visitor& visitor, const nn::Path& path) { module.visit(visitor, path); }) return nn::state(f);
  else return formats::names_of(f);
}

}  // namespace detail

/// The function f(examples…) as an ONNX model in memory. See save().
template <class F, class... Examples>
File to_file(const GraphPath& name, const SaveOptions& options, F&& f, const Examples&... examples) {
  using Arguments = std::tuple<compile::Traced<Examples>...>;
  using Result = std::decay_t<std::invoke_result_t<F&, const compile::Traced<Examples>&...>>;
  const graph::Flat flat = graph::flatten_structure(Arguments(examples...));
  const auto body = [&](std::span<const Tensor> tensors) {
    return std::apply([&](const auto&... arguments) { return formats::results_of<Result>(f, arguments...); },
                      graph::build_structure<Arguments>(tensors.data(), flat.form.data()));
  };
  return detail::file_of(name, options, detail::names_of(f), flat.tensors, body);
}

/// onnx::save("net.onnx", {.open = {{.input = 0, .axis = 0, .name = "N"}}}, net, x): traces f(examples…), as jit does, and writes an ONNX model. Variables are initializers under their
/// names, captured tensors constants. Composites (softmax, norms, gelu, attention) are their operators where the operator set has them. Only shapes and
/// dtypes of the examples matter. f: a module, a lambda, a jit-ed function, a GraphFunction, an onnx::Model, over Tensors or structures of them. Checks (of labels,
/// of indices) are not written. The file is written atomically.
/// Throws Error for an op that ONNX has no operator for and that is not composed of such (random numbers, kernels of one's own), which it names with its line, for
/// functions that write Variables (a net in training mode), and for sizes that depend on an open axis in another way than a product and a sum.
template <class F, class... Examples>
void save(const GraphPath& path, const SaveOptions& options, F&& f, const Examples&... examples) {
  write_file(to_file(path, options, f, examples...), path.path, {.external_above = options.external_above});
}
template <class F, class... Examples>
requires(!std::is_same_v<std::decay_t<F>, SaveOptions>)
void save(const GraphPath& path, F&& f, const Examples&... examples) {
  save(path, SaveOptions(), f, examples...);
}

}  // namespace tegula::onnx
