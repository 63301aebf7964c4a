#include "tegula/train/evaluator.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/train/means.h"

namespace tegula {

Evaluator::Evaluator(const nn::AnyModule& module, Forward forward, EvaluatorOptions options, const Line& where)
    : module_(module),
      forward_(std::move(forward)),
      options_(std::move(options)),
      where_(where),
      measure_(where),
      output_(where) {
  if (options_.batch < 1) {
    throw Error({.op = "Evaluator", .got = "batch " + std::to_string(options_.batch), .expected = "at least 1", .where = where});
  }
}

std::vector<Tensor> Evaluator::outputs(const std::vector<Tensor>& batch) const {
  if (batch.size() < forward_.inputs) {
    throw Error({.op = "Trainer",
                 .got = "samples of " + std::to_string(batch.size()) + " tensors",
                 .expected = "at least the " + std::to_string(forward_.inputs) + " that the model takes",
                 .where = where_});
  }
  return forward_.call({batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(forward_.inputs)});
}

std::vector<Tensor> Evaluator::targets(const std::vector<Tensor>& batch) const {
  return {batch.begin() + static_cast<std::ptrdiff_t>(forward_.inputs), batch.end()};
}

std::vector<Tensor> Evaluator::measured(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) const {
  std::vector<Tensor> results{options_.loss(outputs, targets, where_)};
  for (Tensor& one : measured_beside_loss(outputs, targets)) results.push_back(std::move(one));
  if (options_.count) results.push_back(options_.count(outputs, targets, where_));
  return results;
}

std::vector<Tensor> Evaluator::measured_beside_loss(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) const {
  std::vector<Tensor> results;
  for (const Metric& metric : options_.metrics) results.push_back(metric.value(outputs, targets, where_));
  const In frame("accuracy", where_);
  const bool classes = targets.size() == 1 && !is_float(targets[0].dtype()) && outputs[0].rank() == 2 && targets[0].rank() == 1;
  if (classes) results.push_back(sum(argmax(outputs[0], 1) == targets[0]));
  return results;
}

Evaluation Evaluator::evaluate(const data::AnyDataset& data) {
  if (!options_.loss) {
    throw Error({.op = "Evaluator::evaluate",
                 .got = "no loss",
                 .expected = "what is to be measured",
                 .advice = "Evaluator(net, {.loss = cross_entropy})",
                 .where = where_});
  }
  nn::detail::set_training(module_, false);
  train_detail::Means means(options_.metrics, static_cast<bool>(options_.count));
  const data::Shard shard{options_.group.rank(), options_.group.size()};
  for (const auto& batch : data::Loader(data, {.batch = options_.batch, .workers = options_.workers, .shard = shard}, where_)) {
    const auto measure = [&](std::span<const Tensor> arguments) {
      const std::vector<Tensor> tensors(arguments.begin(), arguments.end());
      return measured(outputs(tensors), targets(tensors));
    };
    const std::vector<Tensor> results =
        measure_.call(batch.tensors, measure);  // without rows, too: the model may exchange something with other ranks
    if (batch.rows > 0) means.add(results, batch.rows);
  }
  means.add_up(options_.group, where_);
  return {means.loss.value(), means.accuracy.value(), data.size(), means.metrics()};
}

std::vector<Tensor> Evaluator::predict_all(const data::AnyDataset& data) {
  nn::detail::set_training(module_, false);
  if (data.size() == 0) throw Error({.op = "Evaluator::predict", .got = "no rows", .expected = "at least one row", .where = where_});
  std::vector<std::vector<Tensor>> parts;  // parts of each output
  for (const auto& batch : data::Loader(data, {.batch = options_.batch, .workers = options_.workers}, where_)) {
    const std::size_t inputs = std::min(forward_.inputs, batch.tensors.size());
    const auto results = output_.call(std::span(batch.tensors).first(inputs),
                                      [&](std::span<const Tensor> arguments) { return outputs({arguments.begin(), arguments.end()}); });
    parts.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) parts[i].push_back(results[i]);
  }
  std::vector<Tensor> all;
  for (const auto& part : parts) all.push_back(part.size() == 1 ? part[0] : concat(part, 0));
  return all;
}

Tensor Evaluator::predict(const data::AnyDataset& data) { return predict_all(data)[0]; }
Tensor Evaluator::predict(const HostArray& inputs) { return predict(data::Arrays({inputs}, where_)); }

}  // namespace tegula
