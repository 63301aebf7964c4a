#pragma once
// Loops over time: a recurrence written once.

#include <functional>
#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The result of a step of a scan: the values carried on, and the values kept of this step. For the whole scan: the last carried values, and the kept values of
/// all steps, stacked along a new first axis.
struct Scanned {
  std::vector<Tensor> carry = {}, ys = {};
};
using ScanBody = std::function<Scanned(const std::vector<Tensor>& carry, const std::vector<Tensor>& x)>;

struct ScanOptions {
  /// The number of steps; needed where there are no xs.
  std::optional<std::int64_t> length = {};
  /// From the last step to the first; ys lie in the order of xs all the same.
  bool reverse = false;
};

/// Runs `body` along axis 0 of xs: at step t it gets the carried values and x[t] of each of xs, and gives the next carried values and its ys.
///
///     auto [h, ys] = scan([&](auto& carry, auto& x) {
///       Tensor h = tanh(matmul(x[0], w) + matmul(carry[0], u));
///       return Scanned{{h}, {h}};
///     }, {zeros({batch, 64})}, {xs});                      // xs (T, batch, 32) -> h[0] (batch, 64), ys[0] (T, batch, 64)
///
/// The body is called once, for all steps: counters in C++ do not advance, and reading a value (item()) is refused; TEGULA_EAGER=1 calls it for each. A
/// plan holds it once, however many steps there are. Carried values keep shape and dtype, and are not rounded to half between steps.
/// Variables may be read and assigned in the body, random numbers are those of the steps written out, a failed check names the body's
/// line and leaves Variables as they were. With no steps the carried values are `start`.
/// A scan is differentiated like anything else, in time and memory linear in the number of steps: the gradient is a reversed loop over the values that this one
/// carried and the results of its products, kernels and sums; elementwise work is done again, gradients of weights are one product after the loop.
/// Differentiate by start, xs, Variables and captured tensors. Results of a scan are values of their own: a derivative by `carry` leaves out uses of the same
/// value inside `ys`, and a second one by a result may or may not see that the first was written with it (tanh' = 1 - y²).
/// Throws Error: no xs and no length, xs of different lengths, a carried value that changes shape or dtype.
Scanned scan(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, ScanOptions options = {},
             Line where = Line::current());

/// The same in about √T chunks, each a scan under checkpoint: a gradient keeps the values carried from chunk to chunk and the inner values of one chunk, so
/// its memory grows with √T, and every step runs forward twice. ys and their gradients take their room all the same.
Scanned scan_in_chunks(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, ScanOptions options = {},
                       Line where = Line::current());

}  // namespace tegula
