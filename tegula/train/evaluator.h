#pragma once
// A model on data, without training it.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/data/loader.h"
#include "tegula/nn/module.h"

namespace tegula {

/// A mean over the batch.
using Loss = std::function<Tensor(Tensor output, Tensor targets)>;

struct EvaluatorOptions {
  std::int64_t batch = 500;
  Loss loss = {};  // empty: cross_entropy
};

struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // the share of rows whose greatest output is the target; NaN when targets are not classes
  std::int64_t rows = 0;
};

/// Holds a reference to the model, and leaves it in evaluation mode.
class Evaluator {
 public:
  using Location = std::source_location;
  using Forward = std::function<Tensor(const Tensor&)>;
  template <nn::Module Model>
  explicit Evaluator(Model& model, EvaluatorOptions options = {}, Location where = Location::current())
      : Evaluator(nn::AnyModule(model), [&model](const Tensor& x) { return model(x); }, std::move(options), where) {}
  Evaluator(const nn::AnyModule& module, Forward forward, EvaluatorOptions options, const Location& where);
  Evaluator(const Evaluator&) = delete;  // what it compiled refers to it
  Evaluator& operator=(const Evaluator&) = delete;

  /// Mean loss and accuracy.
  Evaluation evaluate(const data::AnyDataset& data);
  /// The output for each row: (N, …). Throws Error for no rows.
  Tensor predict(const data::AnyDataset& data);
  Tensor predict(const HostArray& inputs);

  // For use inside of a jit.
  /// The model's output for a batch.
  Tensor output(const Tensor& x) const { return forward_(x); }
  /// The loss of a batch and, when the targets are classes, the number of hits.
  std::vector<Tensor> loss_and_hits(const Tensor& output, const Tensor& targets) const;

 private:
  nn::AnyModule module_;
  Forward forward_;
  EvaluatorOptions options_;
  Location where_;  // the user's line, for what the library adds to model and loss
  Jit<std::function<std::vector<Tensor>(Tensor, Tensor)>> measure_;
  Jit<std::function<Tensor(Tensor)>> output_;
};

}  // namespace tegula
