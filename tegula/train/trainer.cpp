#include "tegula/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/interrupt.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/parallel/counted_rows.h"
#include "tegula/dist/parallel/sharding.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/io/file.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/join.h"
#include "tegula/optim/clip.h"
#include "tegula/train/means.h"
#include "tegula/train/progress.h"

namespace tegula {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kColumns = 7;  // numbers of a record in a checkpoint, before the metrics
constexpr std::int64_t kValidationColumns = 4;

std::vector<ValidationReport> loaded_validations(const HostArray& array) {
  std::vector<ValidationReport> out;
  if (array.dtype != f64 || array.shape.rank() != 2 || array.shape[1] != kValidationColumns) return out;
  const auto v = array.values<double>();
  for (std::size_t i = 0; i + kValidationColumns <= v.size(); i += kValidationColumns)
    out.push_back({static_cast<std::int64_t>(v[i]), static_cast<std::int64_t>(v[i + 1]), {.loss = v[i + 3], .accuracy = kNone}, v[i + 2]});
  return out;
}

/// How many sizes its batches have: an epoch's last one may be smaller.
int sizes_of(const TrainerOptions& options) { return 2 * (1 + static_cast<int>(options.batches.size())); }

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Trainer::Trainer(const nn::AnyModule& module, Forward forward, optim::Optimizer& optimizer, Loss loss, const TrainerOptions& options,
                 const Line& where)
    : module_(module),
      optimizer_(optimizer),
      options_(options),
      loss_(std::move(loss)),
      where_(where),
      evaluator_(module, std::move(forward),
                 {.batch = options_.test_batch,
                  .loss = loss_,
                  .metrics = options_.metrics,
                  .count = options_.count,
                  .workers = options_.workers,
                  .group = options_.group},
                 where),
      step_(where, {.exact = sizes_of(options_)}),
      accumulate_(where, {.exact = sizes_of(options_)}) {
  if (!options_.precision) options_.precision = current_precision();
  if (options_.precision == Precision::fp16) scaler_.emplace(optim::LossScalerOptions{}, where);
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "Trainer", .got = got, .expected = expected, .where = where});
  };
  if (!loss_) refuse("no loss", "what is to be minimised, such as cross_entropy");
  if (options_.epochs < 0 || options_.batch < 1 || !(options_.clip_norm >= 0)) {
    refuse(std::to_string(options_.epochs) + " epochs, batches of " + std::to_string(options_.batch) + ", clip_norm " +
               number_text(options_.clip_norm),
           "none of them negative, batches of at least 1");
  }
  for (std::size_t i = 0; i < options_.batches.size(); ++i) {
    const auto& [epoch, batch] = options_.batches[i];
    if (batch < 1 || epoch < 1 || (i > 0 && epoch <= options_.batches[i - 1].epoch))
      refuse("batches of " + std::to_string(batch) + " from epoch " + std::to_string(epoch) + " on",
             "batches of at least 1, from epochs that rise and begin with 1");
  }
  if (options_.accumulate < 1 || options_.validate_every < 0 || options_.steps < 0) {
    refuse(".accumulate = " + std::to_string(options_.accumulate) + ", .validate_every = " + std::to_string(options_.validate_every) +
               ", .steps = " + std::to_string(options_.steps),
           "at least one batch a step, and no negative number of steps");
  }
  if (options_.shard < 0 || options_.shard > 3) {
    refuse(".shard = " + std::to_string(options_.shard), "0 nothing, 1 the optimiser's state, 2 gradients, too, 3 parameters, too");
  }
  if (feeds_back() && scaler_) {
    refuse(".exchange = fp8 with .precision = fp16, whose gradients are scaled, and skipped where they overflow",
           ".precision = bf16, or another exchange");
  }
  if (options_.accumulate > 1) accumulator_.emplace(optimizer_.parameters(), where);
}

/// `rows`: of the batch, on all ranks. `share`: this rank's rows / all rows, by which its gradients count; undefined without ranks.
Trainer::Gradients Trainer::gradients(const std::vector<Tensor>& batch, const Tensor& rows, const Tensor& share) {
  const dist::CountedRows counted_rows(share);
  if (pipeline_) return staged_gradients(batch, rows, share);
  const std::vector<Tensor> outputs = evaluator_.outputs(batch), targets = evaluator_.targets(batch);
  std::vector<Tensor> measured = evaluator_.measured(outputs, targets);
  Tensor objective = options_.objective ? options_.objective(outputs, targets, where_) : measured[0];
  Tensor part = share, weight = rows;
  if (options_.count) {
    const In frame("Trainer", where_);
    const Tensor counted = cast(measured.back(), f32), own = share.defined() ? where(share > 0, counted, 0) : counted;
    weight = share.defined() ? dist::all_reduce(own, options_.group) : own;
    part = own / where(weight == 0, 1, weight);
  }
  if (part.defined()) {  // in front of the gradient: collectives within the model mix those of all ranks
    const In frame("Trainer", where_);
    objective = where(part == 0, 0, objective * cast(part, objective.dtype()));  // the mean of nothing is NaN
    if (share.defined()) measured = measured_by_all(measured, part, share);
  }
  name_those_without_gradient(objective);
  // Outside of any frame, so that gradients have the lines of their ops.
  std::vector<Tensor> gradients =
      grad(scaler_ ? scaler_->scaled(objective, where_) : objective, parallel_ ? parallel_->leaves() : optimizer_.parameters(), where_);
  if (options_.count) {
    const In frame("Trainer", where_);
    for (Tensor& gradient : gradients) gradient = where(part == 0, 0, gradient);
  }
  if (reduces_each_batch() && parallel_) gradients = parallel_->sum(gradients, where_);
  return {std::move(measured), std::move(gradients), std::move(weight)};
}

void Trainer::take_step(std::vector<Tensor> gradients) {
  const In frame("Trainer", where_);
  if (parallel_ && !reduces_each_batch()) gradients = parallel_->sum(gradients, where_);
  const auto clipped = [&](std::vector<Tensor> all) {
    return options_.clip_norm > 0 ? optim::clip_grad_norm(all, optimizer_.parameters(), options_.clip_norm).gradients : all;
  };
  if (scaler_) {
    auto [unscaled, finite] = scaler_->unscale(gradients);
    scaler_->step(optimizer_, clipped(std::move(unscaled)), finite_everywhere(finite));
  } else {
    optimizer_.step(clipped(std::move(gradients)));
  }
  if (parallel_) parallel_->publish(where_);
}

/// `done` batches of this epoch are done with this one. Returns the measured numbers.
std::vector<Tensor> Trainer::train_on(const data::Batch& batch, std::int64_t done) {
  // The arguments are the tensors of the batch, and behind them its rows, where batches are accumulated, and with several ranks this one's share.
  const std::size_t count = batch.tensors.size();
  std::vector<Tensor> arguments = batch.tensors;
  if (accumulator_) arguments.emplace_back(static_cast<double>(batch.all_rows));
  if (has_ranks()) arguments.emplace_back(static_cast<double>(batch.rows) / static_cast<double>(batch.all_rows));
  const auto of_batch = [&](std::span<const Tensor> traced) {
    return this->gradients({traced.begin(), traced.begin() + static_cast<std::ptrdiff_t>(count)}, accumulator_ ? traced[count] : Tensor(),
                           has_ranks() ? traced.back() : Tensor());
  };
  if (!accumulator_) {
    return step_.call(arguments, [&](std::span<const Tensor> traced) {
      auto [measured, gradients, weight] = of_batch(traced);
      take_step(std::move(gradients));
      return measured;
    });
  }
  if (done % options_.accumulate != 0 && done != loader_->batches()) {
    return accumulate_.call(arguments, [&](std::span<const Tensor> traced) {
      const auto [measured, gradients, weight] = of_batch(traced);
      accumulator_->add(gradients, Arg(weight, where_));
      return measured;
    });
  }
  return step_.call(arguments, [&](std::span<const Tensor> traced) {
    const auto [measured, gradients, weight] = of_batch(traced);
    accumulator_->add(gradients, Arg(weight, where_));
    take_step(accumulator_->mean(where_));
    return measured;
  });
}

HostArray Trainer::saved_history() const {
  std::vector<double> values;
  for (const EpochRecord& r : history_) {
    values.insert(values.end(), {static_cast<double>(r.epoch), r.train_loss, r.train_accuracy, r.test_loss, r.test_accuracy, r.seconds,
                                 r.rows_per_second});
    for (const Metric& metric : options_.metrics) {
      for (const auto* of : {&r.train_metrics, &r.test_metrics}) {
        const auto found = of->find(metric.name);
        values.push_back(found == of->end() ? kNone : found->second);
      }
    }
  }
  const auto columns = kColumns + 2 * static_cast<std::int64_t>(options_.metrics.size());
  return HostArray::from(std::span<const double>(values), {static_cast<std::int64_t>(history_.size()), columns});
}

/// Empty when it is not the record of the epochs 1, 2, 3 … with these metrics.
History Trainer::loaded_history(const HostArray& array) const {
  const auto columns = static_cast<std::size_t>(kColumns) + 2 * options_.metrics.size();
  if (array.dtype != f64 || array.shape.rank() != 2 || array.shape[1] != static_cast<std::int64_t>(columns)) return {};
  History history;
  const auto values = array.values<double>();
  for (std::size_t i = 0; i + columns <= values.size(); i += columns) {
    const auto epoch = static_cast<std::int64_t>(history.size() + 1);
    if (values[i] != static_cast<double>(epoch)) return {};
    history.push_back({epoch, values[i + 1], values[i + 2], values[i + 3], values[i + 4], values[i + 5], values[i + 6]});
    for (std::size_t m = 0; m < options_.metrics.size(); ++m) {
      history.back().train_metrics[options_.metrics[m].name] = values[i + kColumns + 2 * m];
      history.back().test_metrics[options_.metrics[m].name] = values[i + kColumns + 2 * m + 1];
    }
  }
  return history;
}

HostArray Trainer::saved_validations() const {
  std::vector<double> values;
  for (const ValidationReport& r : validations_)
    values.insert(values.end(), {static_cast<double>(r.epoch), static_cast<double>(r.step), r.train_loss, r.test.loss});
  return HostArray::from(std::span<const double>(values), {static_cast<std::int64_t>(validations_.size()), kValidationColumns});
}

Evaluation Trainer::measure(const data::AnyDataset& test) {
  const auto begin = Clock::now();
  Evaluation measured = evaluator_.evaluate(test);
  test_seconds_ = since(begin);
  return measured;
}

History Trainer::fit(const data::AnyDataset& train, const data::AnyDataset& test) {
  const PrecisionScope precision(*options_.precision);
  if (train.size() == 0)
    throw Error({.op = "Trainer::fit", .got = "no rows to train on", .expected = "at least one batch", .where = where_});
  require_like_options(train.size(), test.size());
  name_those_left_out();
  batches_of_.clear();
  for (const BatchFrom& later : options_.batches) make_loader(train, later.batch);
  make_loader(train, options_.batch);
  history_.clear();
  validations_.clear();
  if (!options_.checkpoint.empty() && writes()) io::require_writable(options_.checkpoint->path, "Trainer");
  begin_sharded();
  if (feeds_back() && !(parallel_ && parallel_->sharding())) begin_alike();  // a checkpoint has the residuals
  begin_best();
  if (!resume_.empty()) load_resumed(train);
  if (options_.shard == 0 && !feeds_back()) begin_alike();
  draw_own_numbers();
  std::optional<InterruptScope> interrupts;
  if (options_.stop_on_interrupt) interrupts.emplace();
  const auto shown = progress_table();
  Go go = stopping() && stopping()->ends() ? Go::Stop : Go::On;
  while (go == Go::On && loader_->position().epoch < options_.epochs && has_steps_left()) {
    take_batches_of_epoch(train);
    EpochRecord record{.epoch = loader_->position().epoch + 1, .test_loss = kNone, .test_accuracy = kNone};
    double last_loss = 0;
    go = run_epoch(record, last_loss, test, shown.get());
    if (go == Go::Stop) break;
    if (test.size() > 0) {
      const Evaluation measured = measure(test);
      record.test_loss = measured.loss;
      record.test_accuracy = measured.accuracy;
      record.test_metrics = measured.metrics;
    }
    history_.push_back(record);
    if (shown) shown->epoch(record);
    const bool finite = std::isfinite(last_loss) && (test.size() == 0 || std::isfinite(record.test_loss));
    const bool ends = finish_epoch(record, finite);
    if (on_epoch) go = on_epoch(record);
    if (!std::isfinite(last_loss) && options_.nonfinite == Nonfinite::Stop) stop_at(last_loss, record.epoch, loader_->batches(), "");
    if (!finite && !std::exchange(has_warned_, true)) warn_of(record);
    if (ends) go = Go::Stop;
    if (ends && shown) shown->note("stopped early: epoch " + std::to_string(stopping()->best_epoch) + " was the best");
    if (go == Go::On && record.epoch < options_.epochs && is_interrupted(0)) {
      end_interrupted(record.epoch, steps_done(0), finite, last_loss);
      break;
    }
  }
  restore_best();
  nn::detail::set_training(module_, false);
  if (parallel_ && parallel_->sharding()) parallel_->sharding()->restore(where_);
  return history_;
}

/// `epoch` from 0.
std::int64_t Trainer::batch_in(std::int64_t epoch) const {
  std::int64_t batch = options_.batch;
  for (const BatchFrom& later : options_.batches) {
    if (epoch + 1 >= later.epoch) batch = later.batch;
  }
  return batch;
}

void Trainer::make_loader(const data::AnyDataset& train, std::int64_t batch) {
  loader_.emplace(train,
                  data::LoaderOptions{.batch = batch,
                                      .shuffle = options_.shuffle,
                                      .seed = options_.seed,
                                      .last = options_.last,
                                      .workers = options_.workers,
                                      .weights = options_.weights,
                                      .strata = options_.strata,
                                      .lengths = options_.lengths,
                                      .shard = {options_.group.rank(), options_.group.size()}},
                  where_);
  batches_of_[batch] = loader_->batches();
}

/// At the beginning of an epoch; one that was left in its middle has its own.
void Trainer::take_batches_of_epoch(const data::AnyDataset& train) {
  const data::Sampler::Position position = loader_->position();
  const std::int64_t batch = batch_in(position.epoch);
  if (position.batch != 0 || batch == loader_->options().batch) return;
  make_loader(train, batch);
  loader_->seek(position);
}

void Trainer::load_resumed(const data::AnyDataset& train) {
  if (!options_.batches.empty()) {
    const std::int64_t batch = checkpoint_batch(resume_);
    if (batches_of_.contains(batch)) make_loader(train, batch);  // another one is an error, which load_checkpoint tells
  }
  for (const auto& [name, array] : load_checkpoint(resume_, parts()).extra) {
    if (name == "history") history_ = loaded_history(array);
    if (name == "validations") validations_ = loaded_validations(array);
  }
  for (const EpochRecord& record : history_) {  // makes later epochs count as if the training had never stopped
    if (stopping()) stopping()->improves(record);
    saved_ = std::min(saved_, judged(record, options_.checkpoint->value));
  }
  own_numbers_ = false;
  if (parallel_ && parallel_->sharding()) parallel_->sharding()->refresh(where_);
  const std::int64_t done = steps_done(loader_->position().batch);
  if (options_.steps > 0 && done > options_.steps) {
    throw Error({.op = "Trainer::fit",
                 .got = resume_ + ": a checkpoint with " + std::to_string(done) + " steps done",
                 .expected = "at most the " + std::to_string(options_.steps) + " of this training",
                 .advice = "ask for more steps, or is this the checkpoint of another training?",
                 .where = where_});
  }
  resume_.clear();
}

/// A full disk is no reason to lose the training.
void Trainer::save_epoch(const EpochRecord& record) {
  try {
    save(options_.checkpoint->path);
  } catch (const Error& error) {
    warn("train.checkpoint", "none of epoch " + std::to_string(record.epoch) + ", the training goes on: " + error.what());
  }
}

/// The steps of all epochs, when `batches_done` batches of this one are done.
std::int64_t Trainer::steps_done(std::int64_t batches_done) const {
  const auto steps = [&](std::int64_t batches) { return (batches + options_.accumulate - 1) / options_.accumulate; };
  const bool ended = batches_done == loader_->batches();
  const std::int64_t epoch = loader_->position().epoch;
  std::int64_t before = 0;
  if (options_.batches.empty()) before = epoch * steps(loader_->batches());
  else
    for (std::int64_t e = 0; e < epoch; ++e) before += steps(batches_of_.at(batch_in(e)));
  return before + (ended ? steps(batches_done) : batches_done / options_.accumulate);
}

bool Trainer::has_steps_left() const { return options_.steps == 0 || steps_done(loader_->position().batch) < options_.steps; }

Go Trainer::run_epoch(EpochRecord& record, double& last_loss, const data::AnyDataset& test, progress::EpochTable* shown) {
  constexpr std::int64_t kSnapshotEvery = 128;  // batches: copies are no part of the time, and as many are computed again after a NaN
  nn::detail::set_training(module_, true);
  const std::int64_t batches = loader_->batches();
  train_detail::Means means(options_.metrics, static_cast<bool>(options_.count));
  metrics::RunningMean recent;  // since the last validation
  double seconds = 0;
  auto begin = Clock::now();
  Go go = Go::On;
  while (go == Go::On) {
    if (!has_steps_left() && loader_->position().batch != batches) {
      go = Go::Stop;
      break;
    }
    if (loader_->position().batch % kSnapshotEvery == 0) take_snapshot();
    const auto batch = loader_->next();
    if (!batch) break;
    const std::int64_t done = loader_->position().batch, before = steps_done(done - 1), step = steps_done(done);
    if (options_.schedule) optimizer_.lr.assign(Tensor(options_.schedule(before)));
    const auto [loss, weight] = means.add(train_on(*batch, done), batch->all_rows);
    if (weight != 0) last_loss = loss, recent.add(loss, weight);
    if (on_step || shown) {
      const double passed = seconds + since(begin), per_second = static_cast<double>(means.rows) / passed;
      const double rows_left =
          static_cast<double>((batches - done + (options_.epochs - record.epoch) * batches) * loader_->options().batch);
      const StepReport report{
          .epoch = record.epoch,
          .epochs = options_.epochs,
          .batch = done,
          .batches = batches,
          .step = step,
          .loss = loss,
          .mean_loss = means.loss.value(),
          .mean_accuracy = means.accuracy.value(),
          .learning_rate = optimizer_.lr.read().item<double>(),
          .rows_per_second = per_second,
          .seconds_left = rows_left / per_second + test_seconds_ * static_cast<double>(options_.epochs - record.epoch + 1)};
      if (shown) shown->step(report);
      go = on_step(report);
    }
    if (go == Go::On && weight != 0 && !std::isfinite(loss) && options_.nonfinite == Nonfinite::Stop && !scaler_)
      stop_at(loss, record.epoch, done, op_without_number());
    if (go == Go::On && done < batches && is_interrupted(done)) {
      end_interrupted(record.epoch, step, false, last_loss);
      go = Go::Stop;
    }
    const bool due = options_.validate_every > 0 && step != before && step % options_.validate_every == 0;
    if (go == Go::Stop || !due || test.size() == 0) continue;
    seconds += since(begin);
    validations_.push_back({.epoch = record.epoch, .step = step, .test = measure(test), .train_loss = recent.value()});
    recent.reset();
    go = on_validation(validations_.back());
    nn::detail::set_training(module_, true);
    begin = Clock::now();
  }
  record.seconds = seconds + since(begin);
  record.rows_per_second = static_cast<double>(means.rows) / record.seconds;
  record.train_loss = means.loss.value();
  record.train_accuracy = means.accuracy.value();
  record.train_metrics = means.metrics();
  return go;
}

io::LearningCurve learning_curve(const History& history, std::string title) {
  io::LearningCurve curve{.title = std::move(title)};
  for (const EpochRecord& r : history) {
    curve.train_loss.push_back(r.train_loss);
    curve.train_accuracy.push_back(r.train_accuracy);
    curve.test_loss.push_back(r.test_loss);
    curve.test_accuracy.push_back(r.test_accuracy);
  }
  if (!history.empty()) curve.first_x = static_cast<double>(history.front().epoch);
  return curve;
}

}  // namespace tegula
