#pragma once
// Training in one call:
//
//   Trainer trainer(net, adam, cross_entropy, {.epochs = 5, .batch = 128});
//   trainer.on_epoch = EarlyStopping{.patience = 3};
//   History history = trainer.fit(train, test);

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tegula/dist/parallel/data_parallel.h"
#include "tegula/graph/precision.h"
#include "tegula/io/plot.h"
#include "tegula/optim/loss_scaler.h"
#include "tegula/optim/optimizer.h"
#include "tegula/optim/schedule.h"
#include "tegula/train/callback.h"
#include "tegula/train/checkpoint.h"
#include "tegula/train/evaluator.h"
#include "tegula/train/pipeline.h"

namespace tegula {

/// One pass over the training data. What was not measured is NaN (no test data; accuracy when targets are not classes).
struct EpochRecord {
  std::int64_t epoch = 0;                  // from 1
  double train_loss = 0, train_accuracy = 0;  // means over the epoch, while the weights were changing
  double test_loss = 0, test_accuracy = 0;    // with the weights at its end
  double seconds = 0, rows_per_second = 0;    // training alone
  std::map<std::string, double> train_metrics = {}, test_metrics = {};  // TrainerOptions::metrics
};
using History = std::vector<EpochRecord>;

/// Where a running training stands.
struct StepReport {
  std::int64_t epoch, epochs;   // epoch from 1
  std::int64_t batch, batches;  // batches done in this epoch
  std::int64_t step;            // steps of the optimiser done in all
  double loss;                  // of this batch
  double mean_loss, mean_accuracy;  // over this epoch so far
  double learning_rate;
  double rows_per_second;       // over this epoch so far
  double seconds_left;          // an estimate for all remaining epochs, evaluation included once it was measured
};

/// A test in the middle of an epoch (TrainerOptions::validate_every).
struct ValidationReport {
  std::int64_t epoch, step;
  Evaluation test;
  double train_loss = 0;  // mean since the last one, or since the epoch began
};

struct TrainerOptions {
  std::int64_t epochs = 5;
  std::int64_t batch = 128;
  std::int64_t test_batch = 500;
  std::uint64_t seed = 0;            // of the order of the data
  optim::Schedule schedule = {};     // the learning rate of each step, from 0; empty: the optimiser's own stays
  double clip_norm = 0;              // limit on the norm of all gradients; 0: none
  std::int64_t accumulate = 1;       // batches whose mean gradient is one step; the last step of an epoch may have fewer
  Loss objective = {};               // what is minimised, when it is another one (label smoothing, penalties); empty: the loss
  std::vector<Metric> metrics = {};  // measured beside the loss, in training and tests
  Loss count = {};  // of how much the loss of a batch is the mean, where that is not its rows: of tokens that are no padding
  std::int64_t validate_every = 0;  // steps after which the test data are measured, for on_validation; 0: at the end of epochs only
  std::size_t inputs = 0;  // tensors of a sample that the model gets; 0: as few as it takes. The loss gets the others
  int workers = 0;  // threads that read data ahead (data::LoaderOptions)
  std::vector<double> weights = {};  // of the training rows (data::SamplerOptions)
  std::vector<std::int64_t> strata = {};  // of the training rows (data::SamplerOptions)
  std::vector<std::int64_t> lengths = {};  // of the training rows (data::SamplerOptions)
  bool shuffle = true;  // training rows, each epoch; no: for batches that continue each other, and sets that draw their samples themselves
  dist::Group group = {};  // ranks that train together (dist::world()): `batch` is that of all of them, rank 0 writes the checkpoint
  int shard =
      0;  // with ranks: each keeps a part of 1 the optimiser's state, 2 accumulated gradients, too, 3 the parameters, too (dist::DataParallelOptions)
  std::optional<Precision> exchange =
      {};  // with ranks: as what gradients travel (dist::DataParallelOptions); fp8 neither with .shard = 3 nor with .precision = fp16
  std::optional<Precision> precision = {};  // of training and tests; empty: the default. fp16 trains with optim::LossScaler
  std::string checkpoint = {};  // written after each epoch, while the loss is a number; empty: nowhere
  io::Metadata metadata = {};  // for that file
  bool stop_on_interrupt = false;  // Ctrl-C or SIGTERM ends fit behind the step (core/interrupt.h), the checkpoint is written, a warning says how to go on
};

/// Holds references to model and optimiser. Steps are jit-ed. Random numbers come from the default generator. fit leaves the model in
/// evaluation mode.
class Trainer {
 public:
  using Location = std::source_location;
  /// `loss` is what is reported, and minimised unless options.objective is something else. A model with several inputs gets the first tensors
  /// of each sample; several outputs and targets want a loss that takes them (train/loss.h).
  template <nn::Module Model>
  Trainer(Model& model, optim::Optimizer& optimizer, Loss loss, TrainerOptions options = {}, Location where = Location::current())
      : Trainer(nn::AnyModule(model), forward_of(model, options.inputs, where), optimizer, std::move(loss), options, where) {}

  /// A network whose layers ranks share out, and the loss it was made with: options.group are the ranks of the data's axis, all of the pipeline's see the same
  /// batches. Not with an objective, a count, fp16 or .shard = 3.
  Trainer(dist::Pipeline& pipeline, optim::Optimizer& optimizer, TrainerOptions options = {}, Location where = Location::current());

  Trainer(const Trainer&) = delete;  // its steps refer to it
  Trainer& operator=(const Trainer&) = delete;

  /// Trains until options.epochs are done or a callback says Go::Stop; after resume() only what is left of them. test may be empty. Whether the checkpoint can be
  /// written is tried first; one that fails later is a warning, and the older file stays, as it does when the loss is no longer a number.
  /// Throws Error for data that model or loss do not take, and for a file to resume from that does not fit.
  History fit(const data::AnyDataset& train, const data::AnyDataset& test = {});
  /// Continues at the next fit from a checkpoint that this class wrote, with the same data and options. Throws Error then.
  void resume(std::string path) { resume_ = std::move(path); }
  /// Inside of a callback: everything fit needs to go on from here.
  void save(const std::string& path);

  /// The epochs so far, with those before a checkpoint that fit went on from; in on_epoch its own is the last.
  const History& history() const { return history_; }
  /// What was reported in the middle of epochs so far, of the run that was resumed too (of tests only the loss).
  const std::vector<ValidationReport>& validations() const { return validations_; }

  /// The model in evaluation mode, with loss and metrics of the options.
  Evaluator& evaluator() { return evaluator_; }

  // Functions that return nothing, or Go::Stop to end the training. An epoch that on_step or on_validation ends is not in the history.
  Callback<StepReport> on_step = {};  // after each batch
  Callback<ValidationReport> on_validation = {};
  Callback<EpochRecord> on_epoch = {};

  /// The plan, graph, table of dtypes and use of memory of the training step, once there was one.
  std::string print_plan() const { return step_.print_plan(); }
  std::string print_memory() const { return step_.print_memory(); }
  std::string print_graph() const { return step_.print_graph(); }
  std::string print_precision() const { return step_.print_precision(); }
  /// Null unless the precision is fp16.
  const optim::LossScaler* loss_scaler() const { return scaler_ ? &*scaler_ : nullptr; }
  /// Number of times the training step was traced.
  int traces() const { return step_.traces(); }

 private:
  Trainer(const nn::AnyModule& module, Forward forward, optim::Optimizer& optimizer, Loss loss, const TrainerOptions& options,
          const Location& where);

  struct Gradients {
    std::vector<Tensor> measured, gradients;  // those of the scaled objective, in fp16
  };
  bool has_ranks() const { return options_.group.size() > 1; }
  void require_like_options(std::int64_t rows, std::int64_t test_rows) const;
  Gradients gradients(const std::vector<Tensor>& batch, const Tensor& share);
  std::vector<Tensor> measured_by_all(const std::vector<Tensor>& measured, const Tensor& share) const;
  Gradients staged_gradients(const std::vector<Tensor>& batch, const Tensor& share) const;
  Tensor finite_everywhere(Tensor finite) const;
  bool writes() const;
  Parameters model_state() const;
  Parameters optimizer_state() const;
  bool feeds_back() const { return options_.exchange == Precision::fp8; }
  void begin_alike();
  void begin_sharded();
  void draw_own_numbers();
  bool reduces_each_batch() const { return options_.shard >= 2 && options_.accumulate > 1; }
  void take_step(std::vector<Tensor> gradients);
  std::vector<Tensor> train_on(const data::Batch& batch, std::int64_t done);
  std::int64_t steps_done(std::int64_t batches_done) const;
  Go run_epoch(EpochRecord& record, double& last_loss, const data::AnyDataset& test);
  Evaluation measure(const data::AnyDataset& test);
  HostArray saved_history() const;
  History loaded_history(const HostArray& array) const;
  HostArray saved_validations() const;
  void save_epoch(const EpochRecord& record);
  bool is_interrupted(std::int64_t step) const;
  void end_interrupted(std::int64_t epoch, std::int64_t step, bool saved, double last_loss);
  CheckpointParts parts();

  nn::AnyModule module_;
  const dist::Pipeline* pipeline_ = nullptr;
  optim::Optimizer& optimizer_;
  std::optional<optim::LossScaler> scaler_;
  TrainerOptions options_;
  Loss loss_;
  Location where_;  // the user's line
  Evaluator evaluator_;
  compile::JitState step_, accumulate_;
  Parameters sums_;  // of the gradients of the batches since the last step
  std::optional<dist::DataParallel> parallel_;  // with several ranks
  bool own_numbers_ = false;  // the generator's stream is this rank's
  std::optional<data::Loader> loader_;
  std::string resume_;
  History history_;
  std::vector<ValidationReport> validations_;
  double test_seconds_ = 0;
};

/// trainer.on_epoch = EarlyStopping{.patience = 3}: stops after so many epochs in a row that were not better than the best by more than
/// `least`. What is looked at is the test loss, or without test data the training loss; or what `value` gives, where smaller is better.
struct EarlyStopping {
  std::int64_t patience = 3;
  double least = 0;
  std::function<double(const EpochRecord&)> value = {};

  Go operator()(const EpochRecord& record);

  double best = std::numeric_limits<double>::infinity();
  std::int64_t since = 0;  // epochs without anything better
};

/// For a picture: io::plot("curve.png", learning_curve(history, "mnist-cnn")).
io::LearningCurve learning_curve(const History& history, std::string title);

}  // namespace tegula
