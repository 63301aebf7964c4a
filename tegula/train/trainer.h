#pragma once
// Training in one call:
//
//   Trainer trainer(net, adam, cross_entropy, {.epochs = 5, .batch = 128});
//   trainer.on_epoch = EarlyStopping{.patience = 3, .restore_best = true};
//   History history = trainer.fit(train, test);

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tegula/dist/parallel/data_parallel.h"
#include "tegula/graph/precision.h"
#include "tegula/io/plot.h"
#include "tegula/optim/accumulate.h"
#include "tegula/optim/loss_scaler.h"
#include "tegula/optim/optimizer.h"
#include "tegula/optim/schedule.h"
#include "tegula/train/callback.h"
#include "tegula/train/checkpoint.h"
#include "tegula/train/early_stopping.h"
#include "tegula/train/evaluator.h"
#include "tegula/train/pipeline.h"
#include "tegula/train/reports.h"

namespace tegula::progress {
class EpochTable;
}  // namespace tegula::progress

namespace tegula {

using data::Last;

/// The treatment of a loss that is no number.
enum class Nonfinite : std::uint8_t {
  Stop,  // an Error at the batch, which names the op that made it (with .precision = fp16, whose steps may overflow, at the end of the epoch)
  Go,  // a warning
};

/// The error thrown when the loss is no number.
class Diverged final : public Error {
 public:
  using Error::Error;
};

/// The display of a training's progress: a line while it trains, and a row of a table for each epoch, on stdout.
enum class Progress : std::uint8_t {
  AtTerminal,  // if stdout is one
  Yes,  // elsewhere, too: a line every 20 seconds
  No,
};

/// The batch from an epoch on, counted from 1.
struct BatchFrom {
  std::int64_t epoch, batch;
};

struct TrainerOptions {
  std::int64_t epochs = 5;
  std::int64_t steps = 0;  // upper bound on the optimiser's steps, in all; 0: as many as the epochs have
  std::int64_t batch = 128;
  // Batches of later epochs, in their order: {{.epoch = 31, .batch = 256}, {.epoch = 61, .batch = 512}}, in the place of a falling learning rate (Smith et al., 2018)
  std::vector<BatchFrom> batches = {};
  std::int64_t test_batch = 500;
  std::uint64_t seed = 0;  // for the order of the data
  optim::Schedule schedule = {};  // the learning rate of each step, from 0; empty: the optimiser's own stays
  double clip_norm = 0;  // limit on the norm of all gradients; 0: none
  std::int64_t accumulate = 1;  // batches of one step, each weighted by its rows or count; the last step of an epoch may have fewer
  Loss objective = {};  // the function to minimise, if it is not the loss (label smoothing, penalties); empty: the loss
  std::vector<Metric> metrics = {};  // measured beside the loss, in training and tests
  Loss count = {};  // the number of terms whose mean a batch's loss is, if not its rows: tokens that are no padding
  std::int64_t validate_every = 0;  // steps after which the test data are measured, for on_validation; 0: at the end of epochs only
  std::size_t inputs = 0;  // tensors of a sample that the model gets; 0: as few as it takes. The loss gets the others
  int workers = 0;  // threads that read data ahead (data::LoaderOptions)
  std::vector<double> weights = {};  // weights of the training rows (data::SamplerOptions)
  std::vector<std::int64_t> strata = {};  // strata of the training rows (data::SamplerOptions)
  std::vector<std::int64_t> lengths = {};  // lengths of the training rows (data::SamplerOptions)
  bool shuffle = true;  // training rows, each epoch; no: for batches that continue each other, and sets that draw their samples themselves
  std::optional<Last> last =
      {};  // the rows that do not fill the last batch of an epoch (data::LoaderOptions): Last::Drop when shuffled, unless it is given
  dist::Group group = {};  // ranks that train together (dist::world()): `batch` is that of all of them, rank 0 writes the checkpoint
  int shard =
      0;  // with ranks: each keeps a part of 1 the optimiser's state, 2 accumulated gradients, too, 3 the parameters, too (dist::DataParallelOptions)
  std::optional<Precision> exchange =
      {};  // with ranks: the format in which gradients travel (dist::DataParallelOptions); fp8 neither with .shard = 3 nor with .precision = fp16
  std::optional<Precision> precision = {};  // for training and tests; empty: the default. fp16 trains with optim::LossScaler
  CheckpointOption checkpoint = {};  // a path, written after each epoch while the loss is a number, or a Checkpoint; empty: nowhere
  io::Metadata metadata = {};  // for that file
  bool stop_on_interrupt =
      false;  // Ctrl-C or SIGTERM ends fit behind the step (core/interrupt.h), the checkpoint is written, a warning says how to go on
  std::optional<EarlyStopping> early_stopping = {};  // beside a function in on_epoch
  Nonfinite nonfinite = Nonfinite::Stop;
  Progress progress = Progress::AtTerminal;
  std::string progress_rows = "rows";  // the kind of the rows, for the line: "images"
};

/// Holds references to model and optimiser. Steps are jit-ed. Random numbers come from the default generator. fit leaves the model in
/// evaluation mode.
class Trainer {
 public:
  /// `loss` is reported, and minimised unless options.objective is given. A model with several inputs gets the first tensors
  /// of each sample; several outputs and targets want a loss that takes them (train/loss.h).
  template <nn::Module Model>
  Trainer(Model& model, optim::Optimizer& optimizer, Loss loss, TrainerOptions options = {}, Line where = Line::current())
      : Trainer(nn::AnyModule(model), forward_of(model, options.inputs, where), optimizer, std::move(loss), options, where) {}

  /// Says that the loss is missing.
  template <nn::Module Model>
  Trainer(Model& model, optim::Optimizer& optimizer, TrainerOptions options, Line where = Line::current())
      : Trainer(model, optimizer, Loss(), std::move(options), where) {
    static_assert(!nn::Module<Model>,
                  "tegula: a Trainer needs to know what it minimises: Trainer(net, adam, cross_entropy, {.epochs = 5})");
  }

  /// A network whose layers ranks share out, and the loss it was made with: options.group are the ranks of the data's axis, all of the pipeline's see the same
  /// batches. Not with an objective, a count, fp16 or .shard = 3.
  Trainer(dist::Pipeline& pipeline, optim::Optimizer& optimizer, TrainerOptions options = {}, Line where = Line::current());

  Trainer(const Trainer&) = delete;  // its steps refer to it
  Trainer& operator=(const Trainer&) = delete;

  /// Trains until options.epochs or options.steps are done or a callback says Go::Stop; after resume() only the rest of them, which may be nothing. test may be empty.
  /// An epoch in which options.steps end is not in the history. Tests at the beginning if the checkpoint can be written; a later failure is a warning,
  /// and the older file stays. The file also stays when the loss is no longer a number. Warns once, with names, of the optimiser's parameters that the
  /// objective does not depend on, and of the model's that the optimiser was not given, unless they are frozen (nn/freeze.h).
  /// Throws Error for data that model or loss do not take, for a file to resume from that does not fit, and, unless options.nonfinite says otherwise, for a loss that is
  /// no number: with the op that made it and the user's line, if the state is small (64 MiB) and whole on each rank. The model is then as it was before that step.
  History fit(const data::AnyDataset& train, const data::AnyDataset& test = {});
  /// Continues at the next fit from a checkpoint that this class wrote, with the same data and options. Throws Error then.
  void resume(std::string path) { resume_ = std::move(path); }
  /// Inside of a callback: everything fit needs to go on from here.
  void save(const std::string& path);

  /// The epochs so far, with those before a checkpoint that fit went on from; in on_epoch its own is the last.
  const History& history() const { return history_; }
  /// The reports made during epochs so far, including those of a resumed run (for tests only the loss).
  const std::vector<ValidationReport>& validations() const { return validations_; }

  /// The model in evaluation mode, with loss and metrics of the options.
  Evaluator& evaluator() { return evaluator_; }

  // Functions that return nothing, or Go::Stop to end the training. An epoch that on_step or on_validation ends is not in the history.
  Callback<StepReport> on_step = {};  // after each batch
  Callback<ValidationReport> on_validation = {};
  EpochCallback on_epoch = {};

  /// The plan, times, graph, table of dtypes and use of memory of the training step, once there was one.
  std::string print_plan() const { return step_.print_plan(); }
  std::string print_times() const { return step_.print_times(); }
  std::string print_memory() const { return step_.print_memory(); }
  std::string print_graph() const { return step_.print_graph(); }
  std::string print_precision() const { return step_.print_precision(); }
  /// Null unless the precision is fp16.
  const optim::LossScaler* loss_scaler() const { return scaler_ ? &*scaler_ : nullptr; }
  /// Number of times the training step was traced.
  int traces() const { return step_.traces(); }

 private:
  Trainer(const nn::AnyModule& module, Forward forward, optim::Optimizer& optimizer, Loss loss, const TrainerOptions& options,
          const Line& where);

  struct Gradients {
    std::vector<Tensor> measured, gradients;  // gradients of the scaled objective, in fp16
    Tensor weight;  // () of how much the loss is the mean, on all ranks
  };
  bool has_ranks() const { return options_.group.size() > 1; }
  void require_like_options(std::int64_t rows, std::int64_t test_rows) const;
  Gradients gradients(const std::vector<Tensor>& batch, const Tensor& rows, const Tensor& share);
  std::vector<Tensor> measured_by_all(const std::vector<Tensor>& measured, const Tensor& part, const Tensor& share) const;
  Gradients staged_gradients(const std::vector<Tensor>& batch, const Tensor& rows, const Tensor& share) const;
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
  bool has_steps_left() const;
  std::int64_t batch_in(std::int64_t epoch) const;
  void make_loader(const data::AnyDataset& train, std::int64_t batch);
  void take_batches_of_epoch(const data::AnyDataset& train);
  void load_resumed(const data::AnyDataset& train);
  Go run_epoch(EpochRecord& record, double& last_loss, const data::AnyDataset& test, progress::EpochTable* shown);
  EarlyStopping* stopping();
  void begin_best();
  bool finish_epoch(const EpochRecord& record, bool finite);
  void restore_best();
  Parameters trained_state();
  void name_those_left_out();
  void name_those_without_gradient(const Tensor& objective);
  void take_snapshot();
  void go_back();
  std::string op_without_number();
  std::string op_without_number_on_ranks();
  std::string op_of_own_rows(const data::Batch& batch);
  [[noreturn]] void stop_at(double loss, std::int64_t epoch, std::int64_t batch, const std::string& made);
  void warn_of(const EpochRecord& record);
  Evaluation measure(const data::AnyDataset& test);
  HostArray saved_history() const;
  History loaded_history(const HostArray& array) const;
  HostArray saved_validations() const;
  void save_epoch(const EpochRecord& record);
  bool is_interrupted(std::int64_t step) const;
  void end_interrupted(std::int64_t epoch, std::int64_t step, bool saved, double last_loss);
  std::unique_ptr<progress::EpochTable> progress_table() const;
  CheckpointParts parts();

  nn::AnyModule module_;
  const dist::Pipeline* pipeline_ = nullptr;
  optim::Optimizer& optimizer_;
  std::optional<optim::LossScaler> scaler_;
  TrainerOptions options_;
  Loss loss_;
  Line where_;  // the user's line
  Evaluator evaluator_;
  compile::JitState step_, accumulate_;
  std::optional<optim::GradientAccumulator> accumulator_;  // sums over the batches since the last step
  std::optional<dist::DataParallel> parallel_;  // with several ranks
  bool own_numbers_ = false;  // the generator's stream is this rank's
  std::optional<data::Loader> loader_;
  std::map<std::int64_t, std::int64_t> batches_of_;  // batches of an epoch, by their size
  std::string resume_;
  History history_;
  std::vector<ValidationReport> validations_;
  double test_seconds_ = 0;
  Parameters best_;  // copies of trained_state() from the best epoch, with EarlyStopping::restore_best
  double saved_ = 0;  // the judgement of the best epoch so far, with Checkpoint::best_only
  bool has_named_ = false, has_named_left_out_ = false;  // parameters without gradient, and parameters that the optimiser was not given
  bool has_warned_ = false;  // warned of a loss that is no number
  struct Snapshot {
    Parameters cells;
    std::vector<Tensor> values;
    data::Sampler::Position position;
  };
  std::optional<Snapshot> snapshot_;  // the state from which the search for the op that made a NaN starts
};

/// A picture: io::plot("curve.png", learning_curve(history, "mnist-cnn")).
io::LearningCurve learning_curve(const History& history, std::string title = "");

}  // namespace tegula
