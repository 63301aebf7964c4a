#include "tegula/train/trainer.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/grad.h"
#include "tegula/io/file.h"
#include "tegula/optim/clip.h"
#include "tegula/train/means.h"

namespace tegula {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kColumns = 7;  // of a record in a checkpoint

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

HostArray to_array(const History& history) {
  HostArray array = HostArray::empty(f64, {static_cast<std::int64_t>(history.size()), kColumns});
  auto values = array.values<double>();
  for (std::size_t i = 0; i < history.size(); ++i) {
    const EpochRecord& r = history[i];
    const double row[] = {
        static_cast<double>(r.epoch), r.train_loss, r.train_accuracy, r.test_loss, r.test_accuracy, r.seconds, r.rows_per_second};
    std::copy(std::begin(row), std::end(row), values.begin() + static_cast<std::ptrdiff_t>(i) * kColumns);
  }
  return array;
}

/// Empty when it is not the record of the epochs 1, 2, 3 …
History to_history(const HostArray& array) {
  History history;
  if (array.dtype != f64 || array.shape.rank() != 2 || array.shape[1] != kColumns) return history;
  const auto values = array.values<double>();
  for (std::size_t i = 0; i + kColumns <= values.size(); i += kColumns) {
    const auto epoch = static_cast<std::int64_t>(history.size() + 1);
    if (values[i] != static_cast<double>(epoch)) return {};
    history.push_back({epoch, values[i + 1], values[i + 2], values[i + 3], values[i + 4], values[i + 5], values[i + 6]});
  }
  return history;
}

}  // namespace

Trainer::Trainer(const nn::AnyModule& module, Evaluator::Forward forward, optim::Optimizer& optimizer, TrainerOptions options,
                 const Location& where)
    : module_(module),
      optimizer_(optimizer),
      options_(std::move(options)),
      where_(where),
      evaluator_(module, std::move(forward), {.batch = options_.test_batch, .loss = options_.loss}, where),
      step_(jit(std::function([this](Tensor x, Tensor y) { return train_step(x, y); }), where)) {
  if (!options_.precision) options_.precision = current_precision();
  if (options_.precision == Precision::fp16) scaler_.emplace(optim::LossScalerOptions{}, where);
  if (options_.epochs < 0 || options_.batch < 1 || !(options_.clip_norm >= 0)) {
    throw Error({.op = "Trainer",
                 .got = std::to_string(options_.epochs) + " epochs, batches of " + std::to_string(options_.batch) + ", clip_norm " +
                        std::to_string(options_.clip_norm),
                 .expected = "none of them negative, batches of at least 1",
                 .where = where});
  }
}

std::vector<Tensor> Trainer::train_step(const Tensor& x, const Tensor& y) {
  const Tensor output = evaluator_.output(x);
  auto results = evaluator_.loss_and_hits(output, y);
  const Tensor objective = options_.objective ? options_.objective(output, y) : results[0];
  const In frame("Trainer", where_);
  const auto clipped = [&](const std::vector<Tensor>& gradients) {
    return options_.clip_norm > 0 ? optim::clip_grad_norm(gradients, options_.clip_norm).gradients : gradients;
  };
  if (scaler_) {
    const auto [gradients, finite] = scaler_->unscale(grad(scaler_->scaled(objective), optimizer_.parameters()));
    scaler_->step(optimizer_, clipped(gradients), finite);
  } else {
    optimizer_.step(clipped(grad(objective, optimizer_.parameters())));
  }
  return results;
}

CheckpointParts Trainer::parts() {
  Parameters optimizer = optimizer_.state();
  if (scaler_) {
    for (const Parameter& cell : scaler_->state()) optimizer.push_back(cell);
  }
  return {.model = nn::state(module_),
          .optimizer = std::move(optimizer),
          .generator = &default_generator(),
          .loader = &*loader_,
          .epochs = options_.epochs,
          .extra = {{"history", to_array(history_)}},
          .metadata = options_.metadata};
}

void Trainer::save(const std::string& path) {
  if (!loader_) throw Error({.op = "Trainer::save", .got = "no training", .expected = "a call from a callback of fit, or after it"});
  save_checkpoint(path, parts());
}

History Trainer::fit(const data::AnyDataset& train, const data::AnyDataset& test) {
  const PrecisionScope precision(*options_.precision);
  loader_.emplace(train, data::LoaderOptions{.batch = options_.batch, .shuffle = true, .seed = options_.seed});
  history_.clear();
  if (!options_.checkpoint.empty()) io::require_writable(options_.checkpoint, "Trainer");
  if (!resume_.empty()) {
    for (const auto& [name, array] : load_checkpoint(resume_, parts()).extra) {
      if (name == "history") history_ = to_history(array);
    }
    resume_.clear();
  }
  while (loader_->position().epoch < options_.epochs) {
    EpochRecord record{.epoch = loader_->position().epoch + 1, .test_loss = kNone, .test_accuracy = kNone};
    const double last_loss = run_epoch(record);
    if (test.size() > 0) {
      const auto begin = Clock::now();
      const Evaluation measured = evaluator_.evaluate(test);
      test_seconds_ = since(begin);
      record.test_loss = measured.loss;
      record.test_accuracy = measured.accuracy;
    }
    history_.push_back(record);
    const bool finite = std::isfinite(last_loss) && (test.size() == 0 || std::isfinite(record.test_loss));
    if (finite && !options_.checkpoint.empty()) save_epoch(record);
    if (on_epoch) on_epoch(record);
    if (!finite) {
      warn("train.not_finite", "after epoch " + std::to_string(record.epoch) + " the loss is no number" +
                                   (options_.checkpoint.empty() ? "" : ", the checkpoint from before stays") +
                                   ": lower the learning rate, or limit the gradients by clip_norm (Trainer at " + to_string(where_) + ")");
    }
  }
  nn::detail::set_training(module_, false);
  return history_;
}

/// A full disk is no reason to lose the training.
void Trainer::save_epoch(const EpochRecord& record) {
  try {
    save(options_.checkpoint);
  } catch (const Error& error) {
    warn("train.checkpoint", "none of epoch " + std::to_string(record.epoch) + ", the training goes on: " + error.what());
  }
}

/// Returns the loss of the last batch, 0 when none was left of the epoch.
double Trainer::run_epoch(EpochRecord& record) {
  nn::detail::set_training(module_, true);
  const std::int64_t batches = loader_->batches();
  train_detail::Means means;
  const auto begin = Clock::now();
  double loss = 0;
  while (auto batch = loader_->next()) {
    const std::int64_t done = loader_->position().batch, rows = batch->x.size(0);
    if (options_.schedule) optimizer_.lr.assign(Tensor(options_.schedule((record.epoch - 1) * batches + done - 1)));
    loss = means.add(step_(batch->x, batch->y), rows);
    if (!on_step) continue;
    const double seconds = since(begin), per_second = means.loss.weight() / seconds;
    const double rows_left = static_cast<double>((batches - done + (options_.epochs - record.epoch) * batches) * options_.batch);
    on_step({.epoch = record.epoch,
             .epochs = options_.epochs,
             .batch = done,
             .batches = batches,
             .loss = loss,
             .mean_loss = means.loss.value(),
             .mean_accuracy = means.accuracy.value(),
             .learning_rate = optimizer_.lr.read().item<double>(),
             .rows_per_second = per_second,
             .seconds_left = rows_left / per_second + test_seconds_ * static_cast<double>(options_.epochs - record.epoch + 1)});
  }
  record.seconds = since(begin);
  record.rows_per_second = means.loss.weight() / record.seconds;
  record.train_loss = means.loss.value();
  record.train_accuracy = means.accuracy.value();
  return loss;
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
