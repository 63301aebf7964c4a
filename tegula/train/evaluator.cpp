#include "tegula/train/evaluator.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/train/means.h"

namespace tegula {

Evaluator::Evaluator(const nn::AnyModule& module, Forward forward, EvaluatorOptions options, const Location& where)
    : module_(module),
      forward_(std::move(forward)),
      options_(std::move(options)),
      where_(where),
      measure_(jit(std::function([this](Tensor x, Tensor y) { return loss_and_hits(output(x), y); }), where)),
      output_(jit(std::function([this](Tensor x) { return forward_(x); }), where)) {
  if (options_.batch < 1) {
    throw Error({.op = "Evaluator", .got = "batch " + std::to_string(options_.batch), .expected = "at least 1", .where = where});
  }
  if (!options_.loss) {
    options_.loss = [where](const Tensor& output, const Tensor& targets) {
      const In frame("loss", where);
      return cross_entropy(output, targets);
    };
  }
}

std::vector<Tensor> Evaluator::loss_and_hits(const Tensor& output, const Tensor& targets) const {
  std::vector<Tensor> results{options_.loss(output, targets)};
  const In frame("accuracy", where_);
  if (!is_float(targets.dtype()) && output.rank() == 2 && targets.rank() == 1) results.push_back(sum(argmax(output, 1) == targets));
  return results;
}

Evaluation Evaluator::evaluate(const data::AnyDataset& data) {
  nn::detail::set_training(module_, false);
  train_detail::Means means;
  for (const auto& [x, y] : data::Loader(data, {.batch = options_.batch})) means.add(measure_(x, y), x.size(0));
  return {means.loss.value(), means.accuracy.value(), data.size()};
}

Tensor Evaluator::predict(const HostArray& inputs) { return predict(data::Arrays({inputs}, where_)); }

Tensor Evaluator::predict(const data::AnyDataset& data) {
  nn::detail::set_training(module_, false);
  if (data.size() == 0) throw Error({.op = "Evaluator::predict", .got = "no rows", .expected = "at least one", .where = where_});
  std::vector<Tensor> parts;
  for (const auto& batch : data::Loader(data, {.batch = options_.batch})) parts.push_back(output_(batch.x));
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

}  // namespace tegula
