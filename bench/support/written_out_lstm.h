#pragma once
// An LSTM of one layer written out by hand, step by step: a long graph of small steps, for measurements of plans.

#include <cstdint>
#include <vector>

#include "tegula/tegula.h"

namespace tegula::bench {

struct WrittenOutLstm {
  std::int64_t hidden;
  Variable in{normal({hidden, 4 * hidden}) * 0.1}, recurrent{normal({hidden, 4 * hidden}) * 0.1}, bias{zeros({4 * hidden})};

  /// x (batch, steps, hidden) -> the sum over the steps of the mean of h².
  Tensor operator()(const Tensor& x) const {
    Tensor h = zeros({x.size(0), hidden}), c = h, total = 0.f;
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      const auto z = chunk(matmul(select(x, 1, t), in.read()) + matmul(h, recurrent.read()) + bias.read(), 4, 1);
      c = sigmoid(z[0]) * c + sigmoid(z[1]) * tanh(z[2]);
      h = sigmoid(z[3]) * tanh(c);
      total = total + mean(square(h));
    }
    return total;
  }
  /// Its gradients by the weights.
  std::vector<Tensor> gradients(const Tensor& x) const { return grad((*this)(x), std::vector<Wrt>{in, recurrent, bias}); }
};

}  // namespace tegula::bench
