// Losses of classes.

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// -log_p[n, target[n, …], …] * weight[target], where the target is not to be ignored; log_p (N, C, …), target (N, …).
Tensor negative_log_likelihood(const Call& call, const Tensor& log_p, const Tensor& given, const Tensor& weight) {
  const Tensor target = cast(given, i64);
  const bool ignores = call.has("ignore_index");
  const Tensor is_ignored = target == call.integer("ignore_index", 0);
  const Tensor safe = ignores ? where(is_ignored, 0, target) : target;
  Tensor loss = -squeeze(gather(log_p, 1, unsqueeze(safe, 1)), 1);
  Tensor share = weight.defined() ? take(weight, safe, 0) : ones(loss.shape(), loss.dtype());
  if (ignores) share = where(is_ignored, 0.0, share);
  loss = loss * share;
  const std::string kind = call.text("reduction", "mean");
  if (kind == "none") return loss;
  if (kind == "sum") return sum(loss);
  if (kind == "mean") return sum(loss) / sum(share);
  call.refuse("reduction " + kind, "none, sum or mean");
}

Results softmax_cross_entropy(const Call& call) {
  const Tensor log_p = log_softmax(call[0], 1);
  return std::vector<Tensor>{negative_log_likelihood(call, log_p, call[1], call.maybe(2)), log_p};
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"NegativeLogLikelihoodLoss", [](Call& c) -> Results { return negative_log_likelihood(c, c[0], c[1], c.maybe(2)); }, "ignore_index reduction"},
    {"SoftmaxCrossEntropyLoss", [](Call& c) -> Results { return softmax_cross_entropy(c); }, "ignore_index reduction"},
};
// clang-format on

}  // namespace

Operators loss_operators() { return kOperators; }

}  // namespace tegula::onnx
