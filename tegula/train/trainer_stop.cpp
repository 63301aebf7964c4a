// The end of a Trainer's fit: at the best epoch, or at a loss that is no number.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/parallel/sharding.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/nonfinite.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/nn/freeze.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/train/progress.h"
#include "tegula/train/trainer.h"

namespace tegula {
namespace {

/// While it lives all that is computed is looked at; nothing was before (take_snapshot). Not Checking: ranks of one process share the setting, and none may restore what another one
/// has set.
struct Looking {
  Looking() { set_checking(Check::Nan, true); }
  ~Looking() { set_checking(Check::Nan, false); }
};

std::string op_in(const Error& error) {
  const std::string place = to_string(error.report().where);
  return error.report().op + (place.empty() ? "" : " at " + place) + ": " + error.report().got;
}

/// True if other ranks take part in pending nodes below these.
bool exchanges(const std::vector<Ref<Node>>& roots) {
  std::unordered_set<const Node*> met;
  std::vector<const Node*> stack;
  for (const Ref<Node>& root : roots) stack.push_back(root.get());
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    if (!met.insert(node).second) continue;
    if (effect_of(node->op()) == Effect::Ordered) return true;
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
  return false;
}

}  // namespace

double judged(const EpochRecord& record, const Judgement& value) {
  return value ? value(record) : std::isnan(record.test_loss) ? record.train_loss : record.test_loss;
}

bool EarlyStopping::improves(const EpochRecord& record) {
  const double now = judged(record, value);
  const bool is_better = now < best - least;
  since = is_better ? 0 : since + 1;
  if (is_better) best = now, best_epoch = record.epoch;
  return is_better;
}

Go EarlyStopping::operator()(const EpochRecord& record) {
  if (restore_best) {
    throw Error(
        {.op = "EarlyStopping",
         .got = ".restore_best in a function of one's own",
         .expected = "a Trainer that has the EarlyStopping itself, since the weights are its",
         .advice = "trainer.on_epoch = EarlyStopping{.restore_best = true}, or .early_stopping in the TrainerOptions beside a function"});
  }
  improves(record);
  return ends() ? Go::Stop : Go::On;
}

EarlyStopping* Trainer::stopping() {
  if (on_epoch.stopping()) return &*on_epoch.stopping();
  return options_.early_stopping ? &*options_.early_stopping : nullptr;
}

/// The state that training changes: the model's parameters and buffers; for those that are kept elsewhere, this rank's parts.
Parameters Trainer::trained_state() {
  Parameters state = model_state();
  for (Parameter& cell : state) {
    if (!cell.cell->source() || !parallel_) continue;
    for (const Parameter& leaf : parallel_->leaves()) {
      if (leaf.name == cell.name) cell.cell = leaf.cell;
    }
  }
  return state;
}

void Trainer::begin_best() {
  snapshot_.reset();
  best_.clear();
  saved_ = std::numeric_limits<double>::infinity();
  has_warned_ = false;
  if (!stopping()) return;
  stopping()->begin();
  if (!stopping()->restore_best) return;
  for (const Parameter& cell : trained_state()) {
    best_.push_back({"best." + cell.name, Variable(cell.read(where_), where_).cell()});
    best_.back().cell->set_partition(cell.cell->partition());
  }
}

/// Keeps the best weights so far, and writes the checkpoint. True if the training ends with this epoch.
bool Trainer::finish_epoch(const EpochRecord& record, bool finite) {
  if (stopping() && stopping()->improves(record) && !best_.empty()) {
    const Parameters now = trained_state();
    for (std::size_t i = 0; i < now.size(); ++i) best_[i].assign(now[i].read(where_), where_);
  }
  const double judgement = judged(record, options_.checkpoint->value);
  const bool is_best = judgement < saved_;
  if (is_best) saved_ = judgement;
  if (finite && !options_.checkpoint.empty() && (is_best || !options_.checkpoint->best_only)) save_epoch(record);
  return stopping() && stopping()->ends();
}

void Trainer::restore_best() {
  if (best_.empty() || stopping()->best_epoch == 0) return;
  const Parameters now = trained_state();
  for (std::size_t i = 0; i < now.size(); ++i) now[i].assign(best_[i].read(where_), where_);
  if (parallel_ && parallel_->sharding()) parallel_->sharding()->refresh(where_);
}

std::unique_ptr<progress::EpochTable> Trainer::progress_table() const {
  const bool shows = options_.progress == Progress::Yes || (options_.progress == Progress::AtTerminal && ::isatty(STDOUT_FILENO));
  return shows && writes() ? std::make_unique<progress::EpochTable>(options_.progress_rows, options_.metrics) : nullptr;
}

/// "a, b and 9 more"
static std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

/// Once: parameters of the model that the optimiser was not given, unless they are frozen.
void Trainer::name_those_left_out() {
  if (pipeline_ || options_.shard > 0 || !writes() || std::exchange(has_named_left_out_, true)) return;
  std::set<const Cell*> given;
  for (const Parameter& parameter : optimizer_.parameters()) given.insert(parameter.cell.get());
  std::vector<std::string> left_out;
  for (const Parameter& parameter : trainable(nn::detail::parameters(module_))) {
    if (!given.contains(parameter.cell.get())) left_out.push_back(parameter.name);
  }
  if (left_out.empty()) return;
  warn("train.left_out", "the optimiser was not given " + first_of(left_out) + " of the model, so that training leaves " +
                             (left_out.size() > 1 ? "them as they are" : "it as it is") + " (Trainer at " + to_string(where_) +
                             "). Where that is meant, freeze(net, \"" + left_out[0] + "\") says it");
}

/// Names them in each trace, so that all of them read the same.
void Trainer::name_those_without_gradient(const Tensor& objective) {
  const std::vector<std::string> idle =
      without_gradient(objective, trainable(parallel_ ? parallel_->leaves() : optimizer_.parameters()), where_);
  const std::size_t count = idle.size();
  if (count == 0 || std::exchange(has_named_, true) || !writes()) return;
  const std::string names = first_of(idle);
  warn("train.no_gradient", "the loss does not depend on " + names + ", so that training leaves " + (count > 1 ? "them" : "it") + " as " +
                                (count > 1 ? "they are" : "it is") + " (Trainer at " + to_string(where_) + "): does the network use " +
                                (count > 1 ? "them" : "it") + "? What is not to be trained can be frozen: freeze(net, \"" + idle[0] +
                                "\")");
}

// --- A loss that is no number.

/// Keeps handles: a step that overwrites a cell copies it once. Only if copies are small, and each rank has all of the state.
void Trainer::take_snapshot() {
  constexpr std::size_t kMost = 64 << 20;  // bytes
  if (options_.nonfinite == Nonfinite::Go || scaler_ || pipeline_ || checks_nonfinite()) return;
  if (std::ranges::any_of(optimizer_.parameters(), [](const Parameter& p) { return p.cell->partition() != nullptr; })) return;
  if (has_ranks() && (!parallel_ || parallel_->sharding() || !parallel_->residuals().empty())) return;
  Snapshot snapshot{.cells = nn::state(module_), .values = {}, .position = loader_->position()};
  for (const Parameter& cell : optimizer_.parameters()) snapshot.cells.push_back(cell);
  for (const Parameter& cell : optimizer_state()) snapshot.cells.push_back(cell);
  snapshot.cells.push_back({"seed", default_generator().seed_variable().cell()});
  snapshot.cells.push_back({"counter", default_generator().counter_variable().cell()});
  std::size_t bytes = 0;
  for (const Parameter& cell : snapshot.cells) bytes += static_cast<std::size_t>(numel(cell.cell->shape())) * size_of(cell.cell->dtype());
  if (bytes > kMost) return;
  for (const Parameter& cell : snapshot.cells) snapshot.values.push_back(cell.read(where_));
  snapshot_ = std::move(snapshot);
}

void Trainer::go_back() {
  for (std::size_t i = 0; i < snapshot_->cells.size(); ++i) snapshot_->cells[i].assign(snapshot_->values[i], where_);
  loader_->seek(snapshot_->position);
}

/// The op that made the loss or a weight NaN: the batches since the snapshot are computed again, each value looked at. Empty where it is not found. The model is then
/// as it was before that step.
std::string Trainer::op_without_number() {
  if (!snapshot_) return "";
  if (has_ranks()) return op_without_number_on_ranks();
  const std::int64_t until = loader_->position().batch;
  std::int64_t fine = snapshot_->position.batch;
  const auto train_until = [&](std::int64_t last) {
    go_back();
    while (loader_->position().batch < last) {
      const auto batch = loader_->next();
      if (!batch) break;
      const std::int64_t done = loader_->position().batch;
      if (options_.schedule) optimizer_.lr.assign(Tensor(options_.schedule(steps_done(done - 1))));
      train_on(*batch, done);
      std::vector<Ref<Node>> nodes;  // looked at, where checks are on
      for (const Parameter& cell : snapshot_->cells) nodes.push_back(cell.read(where_).node());
      evaluate(nodes, where_);
      fine = done;
    }
  };
  std::string made;
  try {
    const Checking looking(Check::Nan);
    train_until(until);
  } catch (const Error& error) { made = op_in(error); }
  if (!made.empty()) train_until(std::int64_t{fine});  // with the bits of the steps that were
  return made;
}

/// The same if ranks have parts of the batches: all of them come here together, and take the steps since the snapshot again, with their exchanges. Before each, every rank checks
/// its own computations on its rows, so that no rank waits for one that has found something.
std::string Trainer::op_without_number_on_ranks() {
  const std::int64_t until = loader_->position().batch;
  const int ranks = options_.group.size(), own = options_.group.rank();
  std::vector<Ref<Node>> nodes;
  for (go_back(); loader_->position().batch < until;) {
    const auto batch = loader_->next();
    if (!batch) break;
    const std::int64_t done = loader_->position().batch;
    std::vector<float> found(static_cast<std::size_t>(ranks));
    std::string made;
    {
      const Looking looking;
      made = op_of_own_rows(*batch);
      found[static_cast<std::size_t>(own)] = made.empty() ? 0 : 1;
      found = dist::all_reduce(Arg(tensor(found), where_), options_.group).to_host();
    }
    // Ranks of one process share the setting: none goes on while another one still looks.
    static_cast<void>(dist::all_reduce(Arg(tensor(found), where_), options_.group).to_host());
    if (const auto who = std::ranges::find_if(found, [](float count) { return count > 0; }); who != found.end())
      return made.empty() ? "what rank " + std::to_string(who - found.begin()) + " names" : made;
    if (options_.schedule) optimizer_.lr.assign(Tensor(options_.schedule(steps_done(done - 1))));
    train_on(*batch, done);
    nodes.clear();
    for (const Parameter& cell : snapshot_->cells) nodes.push_back(cell.read(where_).node());
    evaluate(nodes, where_);
  }
  return "";
}

/// The op that makes loss or gradients of this rank's rows NaN; empty where it is not found, and where the model itself exchanges something. The model stays as it is.
std::string Trainer::op_of_own_rows(const data::Batch& batch) {
  if (batch.rows == 0) return "";
  std::vector<Tensor> values;
  for (const Parameter& cell : snapshot_->cells) values.push_back(cell.read(where_));
  std::string made;
  try {
    const std::vector<Tensor> outputs = evaluator_.outputs(batch.tensors), targets = evaluator_.targets(batch.tensors);
    const std::vector<Tensor> measured = evaluator_.measured(outputs, targets);
    const Tensor objective = options_.objective ? options_.objective(outputs, targets, where_) : measured[0];
    if (!options_.count || cast(measured.back(), f64).item<double>() > 0) {  // the mean of nothing is NaN
      std::vector<Ref<Node>> nodes{objective.node()};
      for (const Tensor& gradient : grad(objective, parallel_->leaves(), where_)) nodes.push_back(gradient.node());
      if (!exchanges(nodes)) evaluate(nodes, where_);
    }
  } catch (const Error& error) { made = op_in(error); }
  for (std::size_t i = 0; i < values.size(); ++i) snapshot_->cells[i].assign(values[i], where_);
  return made;
}

void Trainer::stop_at(double loss, std::int64_t epoch, std::int64_t batch, const std::string& made) {
  restore_best();
  nn::detail::set_training(module_, false);
  const std::string number = std::isnan(loss) ? "nan" : number_text(loss);
  throw Diverged({.op = "Trainer",
                  .got = "a loss of " + number + " in batch " + std::to_string(batch) + " of epoch " + std::to_string(epoch) +
                         (made.empty() ? "" : ", made by " + made),
                  .expected = "a number",
                  .advice = std::string("lower the learning rate, or limit the gradients by clip_norm") +
                            (made.empty() ? "; TEGULA_CHECK=nan finds the op" : "") +
                            (options_.checkpoint.empty() ? "" : "; the checkpoint from before stays") +
                            "; .nonfinite = Nonfinite::Go trains on",
                  .where = where_});
}

void Trainer::warn_of(const EpochRecord& record) {
  warn("train.not_finite", "after epoch " + std::to_string(record.epoch) + " the loss is no number" +
                               (options_.checkpoint.empty() ? "" : ", the checkpoint from before stays") +
                               ": lower the learning rate, or limit the gradients by clip_norm (Trainer at " + to_string(where_) +
                               "); TEGULA_CHECK=nan finds the op");
}

}  // namespace tegula
