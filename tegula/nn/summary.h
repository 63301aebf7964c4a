#pragma once
// A network as a table: its layers with their outputs, parameters and work.

#include <concepts>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "tegula/nn/call.h"
#include "tegula/nn/module.h"

namespace tegula {

struct SummaryRow {
  std::string module;  // "blocks.0.conv1", the path in front of its parameters' names; "" for a layer without any
  std::string type;    // "Conv2d"; for ops outside of the library's layers the op: "matmul"
  std::string weights; // "weight (12, 1, 3, 3), bias (12,)"
  Shape output;
  DType dtype = DType::f32;
  std::int64_t parameters = 0;  // trained numbers; of a layer that is called again only in its first row
  double operations = 0;        // floating-point, of matrix products, convolutions and pooling
  std::int64_t bytes = 0;       // bytes of the output
  std::int64_t moved = 0;       // bytes that the counted work reads and writes at least: each operand and each result once
};

struct Summary {
  std::vector<SummaryRow> rows;  // in the order of the calls
  std::int64_t parameters = 0, parameter_bytes = 0;  // of the whole module, including parameters that the call does not reach
  std::vector<std::string> unused;                   // parameters that it does not reach
  /// The table, with a line of totals.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const Summary& summary);

namespace nn::detail {
Summary summary(const AnyModule& module, const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& forward,
                const std::vector<Tensor>& inputs, const Line& where);
Tensor of_zeros(const Shape& shape, DType dtype, const Line& where);
}  // namespace nn::detail

/// A table of the calls that the module makes for an input like this: std::cout << summary(net, {1, 3, 32, 32}). Also for modules that return several tensors (nn::LSTM). The call
/// is traced: nothing is computed, no Variable changes, and the inputs' values do not matter. Throws Error if the module does, and if it looks at values.
template <nn::Module T>
Summary summary(T& module, const Shape& shape, DType dtype = DType::f32, Line where = Line::current()) {
  return nn::detail::summary(
      module, [&](const std::vector<Tensor>& x) { return nn::call_at(where, module, x, std::make_index_sequence<1>()); },
      {nn::detail::of_zeros(shape, dtype, where)}, where);
}
/// For a module with several inputs, or one of another kind: summary(net, ids, mask).
template <nn::Module T, std::same_as<Tensor>... Inputs>
requires(sizeof...(Inputs) > 0)
Summary summary(T& module, const Inputs&... inputs) {
  const std::vector<Tensor> all{inputs...};
  const Line where = all[0].defined() ? all[0].node()->origin().where : Line();
  return nn::detail::summary(
      module, [&](const std::vector<Tensor>& x) { return nn::call_at(where, module, x, std::index_sequence_for<Inputs...>()); }, all,
      where);
}

}  // namespace tegula
