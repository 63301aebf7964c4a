#pragma once
// Loops over time: a recurrence written once.

#include <functional>
#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

/// What a step of a scan gives: the values carried on, and what is kept of this step. Of the whole scan: the last values, and what was kept of
/// all steps, stacked along a new first axis.
struct Scanned {
  std::vector<Tensor> carry, ys;
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
/// It is differentiated like anything else, in time and memory linear in the number of steps. Carried values keep shape and dtype. Variables may
/// be read and assigned in the body, random numbers differ from step to step. With no steps the carried values are `start`, and the body is called once
/// for the shapes of ys. So that the graph of a step may one day be built once for all of them, the body must not depend on how often it is called.
/// Throws Error: no xs and no length, xs of different lengths, a carried value that changes shape or dtype, ys that do.
Scanned scan(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, ScanOptions options = {},
             std::source_location where = std::source_location::current());

}  // namespace tegula
