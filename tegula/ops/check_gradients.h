#pragma once
// Are the gradients right? Central differences in f64 say so.

#include <functional>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

struct GradientCheck {
  double step = 1e-5;               // of the central difference, times max(1, |x|)
  double relative = 1e-5;           // |gradient - difference| <= absolute + relative * max(|gradient|, |difference|)
  double absolute = 1e-7;
  std::vector<int> inputs = {};     // the positions to check; empty: every float input
  std::int64_t most_elements = 256; // elements tried of each input, spread evenly
  std::uint64_t seed = 1;           // for the weights with which the output's elements are summed
};

/// Compares grad with central differences. Float inputs are converted to f64; the elements of the result are summed with random weights, so it may have any shape.
/// Throws Error naming the worst element: which input, its index, the gradient and the difference.
void check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                     const GradientCheck& options = {}, Line where = Line::current());

}  // namespace tegula
