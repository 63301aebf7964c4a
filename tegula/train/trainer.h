#pragma once
// Training in one call:
//
//   Trainer trainer(net, adam, {.epochs = 5, .batch = 128});
//   History history = trainer.fit(train, test);

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tegula/graph/precision.h"
#include "tegula/io/plot.h"
#include "tegula/optim/loss_scaler.h"
#include "tegula/optim/optimizer.h"
#include "tegula/optim/schedule.h"
#include "tegula/train/checkpoint.h"
#include "tegula/train/evaluator.h"

namespace tegula {

/// One pass over the training data. What was not measured is NaN (no test data; accuracy when targets are not classes).
struct EpochRecord {
  std::int64_t epoch = 0;                  // from 1
  double train_loss = 0, train_accuracy = 0;  // means over the epoch, while the weights were changing
  double test_loss = 0, test_accuracy = 0;    // with the weights at its end
  double seconds = 0, rows_per_second = 0;    // training alone
};
using History = std::vector<EpochRecord>;

/// Where a running training stands.
struct StepReport {
  std::int64_t epoch, epochs;   // epoch from 1
  std::int64_t batch, batches;  // batches done in this epoch
  double loss;                  // of this batch
  double mean_loss, mean_accuracy;  // over this epoch so far
  double learning_rate;
  double rows_per_second;       // over this epoch so far
  double seconds_left;          // an estimate for all remaining epochs, evaluation included once it was measured
};

struct TrainerOptions {
  std::int64_t epochs = 5;
  std::int64_t batch = 128;
  std::int64_t test_batch = 500;
  std::uint64_t seed = 0;            // of the order of the data
  optim::Schedule schedule = {};     // the learning rate of each step, from 0; empty: the optimiser's own stays
  double clip_norm = 0;              // limit on the norm of all gradients; 0: none
  Loss loss = {};                    // what is reported; empty: cross_entropy
  Loss objective = {};               // what is minimised, when it is another one (label smoothing, penalties); empty: the loss
  std::optional<Precision> precision = {};  // of training and tests; empty: the default. fp16 trains with optim::LossScaler
  std::string checkpoint = {};       // written after each epoch, while the loss is a number; empty: nowhere
  io::Metadata metadata = {};        // for that file
};

/// Holds references to model and optimiser. Steps are jit-ed. Random numbers come from the default generator. fit leaves the model in
/// evaluation mode.
class Trainer {
 public:
  using Location = std::source_location;
  template <nn::Module Model>
  Trainer(Model& model, optim::Optimizer& optimizer, TrainerOptions options = {}, Location where = Location::current())
      : Trainer(nn::AnyModule(model), [&model](const Tensor& x) { return model(x); }, optimizer, std::move(options), where) {}

  Trainer(const Trainer&) = delete;  // its steps refer to it
  Trainer& operator=(const Trainer&) = delete;

  /// Trains until options.epochs are done; after resume() only what is left of them. test may be empty. Whether the checkpoint can be written is
  /// tried first; one that fails later is a warning, and the older file stays, as it does when the loss is no longer a number. Throws Error for
  /// data that model or loss do not take, and for a file to resume from that does not fit.
  History fit(const data::AnyDataset& train, const data::AnyDataset& test = {});
  /// Continues at the next fit from a checkpoint that this class wrote, with the same data and options. Throws Error then.
  void resume(std::string path) { resume_ = std::move(path); }
  /// Inside of a callback: everything fit needs to go on from here.
  void save(const std::string& path);

  /// The model in evaluation mode, with the loss of the options.
  Evaluator& evaluator() { return evaluator_; }

  std::function<void(const StepReport&)> on_step = {};
  std::function<void(const EpochRecord&)> on_epoch = {};

  /// The plan, graph and table of dtypes of the training step, once there was one.
  std::string print_plan() const { return step_.print_plan(); }
  std::string print_graph() const { return step_.print_graph(); }
  std::string print_precision() const { return step_.print_precision(); }
  /// Null unless the precision is fp16.
  const optim::LossScaler* loss_scaler() const { return scaler_ ? &*scaler_ : nullptr; }
  /// Number of times the training step was traced.
  int traces() const { return step_.traces(); }

 private:
  Trainer(const nn::AnyModule& module, Evaluator::Forward forward, optim::Optimizer& optimizer, TrainerOptions options,
          const Location& where);

  std::vector<Tensor> train_step(const Tensor& x, const Tensor& y);
  double run_epoch(EpochRecord& record);
  void save_epoch(const EpochRecord& record);
  CheckpointParts parts();

  nn::AnyModule module_;
  optim::Optimizer& optimizer_;
  std::optional<optim::LossScaler> scaler_;
  TrainerOptions options_;
  Location where_;  // the user's line
  Evaluator evaluator_;
  Jit<std::function<std::vector<Tensor>(Tensor, Tensor)>> step_;
  std::optional<data::Loader> loader_;
  std::string resume_;
  History history_;
  double test_seconds_ = 0;
};

/// For a picture: io::plot("curve.png", learning_curve(history, "mnist-cnn")).
io::LearningCurve learning_curve(const History& history, std::string title);

}  // namespace tegula
