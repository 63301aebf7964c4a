#pragma once
// Layers whose parameters come with the case, by name.

#include "tests/differential/registry.h"

namespace differential {

/// The parameters named by the attribute "names" become the tensors from place `first` on.
template <class Layer>
void fill_by_name(Layer& layer, const Tensors& x, const Attributes& a, std::size_t first) {
  StateDict state;
  std::size_t next = first;
  for (const auto& name : a.at("names")) state.push_back({name.get<std::string>(), x.at(next++)});
  load(layer, state);
}

/// Appends the gradient of Σ y² by each parameter.
template <class Layer>
Tensors with_parameter_gradients(const Layer& layer, Tensors out) {
  const Tensor y = out[0];
  for (const Tensor& dw : grad(sum(y * y), parameters(layer))) out.push_back(stop_gradient(dw));
  return out;
}

}  // namespace differential
