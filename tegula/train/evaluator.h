#pragma once
// A model on data, without training it.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/data/loader.h"
#include "tegula/dist/exchange/group.h"
#include "tegula/nn/module.h"
#include "tegula/train/loss.h"

namespace tegula {

struct EvaluatorOptions {
  std::int64_t batch = 500;
  Loss loss = {};                    // reported by evaluate; predict needs none
  std::vector<Metric> metrics = {};  // and these
  Loss count = {};  // the number of terms whose mean a batch's loss is, if not its rows: tokens that are no padding
  std::size_t inputs = 0;  // tensors of a sample that the model gets; 0: as few as it takes. The others are targets
  int workers = 0;  // threads that read data ahead
  dist::Group group = {};            // ranks that share the work of evaluate, and all get the result
};

struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // the share of rows whose greatest output is the target; NaN when targets are not classes
  std::int64_t rows = 0;
  std::map<std::string, double> metrics = {};  // means over the rows, or what `count` counts
};

/// Holds a reference to the model, and leaves it in evaluation mode.
class Evaluator {
 public:
  template <nn::Module Model>
  explicit Evaluator(Model& model, EvaluatorOptions options = {}, Line where = Line::current())
      : Evaluator(nn::AnyModule(model), forward_of(model, options.inputs, where), options, where) {}
  Evaluator(const nn::AnyModule& module, Forward forward, EvaluatorOptions options, const Line& where);
  Evaluator(const Evaluator&) = delete;  // its compiled functions refer to it
  Evaluator& operator=(const Evaluator&) = delete;

  /// Means over all rows. Throws Error without a loss, and for data that model or loss do not take.
  Evaluation evaluate(const data::AnyDataset& data);
  /// The model's first output for each row: (N, …). Targets, if there are any, are not looked at. Throws Error for no rows.
  Tensor predict(const data::AnyDataset& data);
  Tensor predict(const HostArray& inputs);
  /// All outputs of a model with several.
  std::vector<Tensor> predict_all(const data::AnyDataset& data);

  // The outputs for use inside of a jit.
  /// The model's outputs for the tensors of a batch.
  std::vector<Tensor> outputs(const std::vector<Tensor>& batch) const;
  /// The tensors of a batch that are targets.
  std::vector<Tensor> targets(const std::vector<Tensor>& batch) const;
  /// Loss, metrics, when the target is a class the number of hits, and the count if there is one: what train_detail::Means adds up.
  std::vector<Tensor> measured(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) const;
  /// The metrics and the hits among those.
  std::vector<Tensor> measured_beside_loss(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) const;

 private:
  nn::AnyModule module_;
  Forward forward_;
  EvaluatorOptions options_;
  Line where_;  // the user's line, for the library's own ops after model and loss
  compile::JitState measure_, output_;
};

}  // namespace tegula
