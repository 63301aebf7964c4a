#pragma once
// The best epoch of a training, and the use of its weights.

#include <concepts>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tegula/train/callback.h"
#include "tegula/train/reports.h"

namespace tegula {

/// The judgement of an epoch, for which smaller is better: the given function; if it is empty, the test loss, or without test data the training loss.
using Judgement = std::function<double(const EpochRecord&)>;
double judged(const EpochRecord& record, const Judgement& value);

/// trainer.on_epoch = EarlyStopping{.patience = 3}: stops after `patience` epochs in a row that were not better than the best by more than `least`. A fit
/// begins anew; one that was resumed goes on as if it had never stopped.
struct EarlyStopping {
  std::int64_t patience = 3;
  double least = 0;
  Judgement value = {};
  bool restore_best =
      false;  // at its end fit gives the model the parameters and buffers of the best epoch, however it ends (Keras: restore_best_weights)

  /// For a callback of one's own. Throws Error with restore_best, which is the Trainer's work: on_epoch or TrainerOptions::early_stopping has to be this.
  Go operator()(const EpochRecord& record);
  /// The same without a thought of the weights; whether the epoch is the best so far.
  bool improves(const EpochRecord& record);
  bool ends() const { return since >= patience; }
  void begin() { best = std::numeric_limits<double>::infinity(), since = 0, best_epoch = 0; }

  double best = std::numeric_limits<double>::infinity();
  std::int64_t since = 0;  // epochs without anything better
  std::int64_t best_epoch = 0;  // 0: none yet
};

/// TrainerOptions::checkpoint = Checkpoint{.path = "run.safetensors", .best_only = true}: written after those epochs alone that are better than all before
/// (Keras: ModelCheckpoint(save_best_only=True)). A path by itself: after each epoch.
struct Checkpoint {
  std::string path;
  bool best_only = false;
  Judgement value = {};
};

/// A path, or a Checkpoint.
class CheckpointOption {
 public:
  CheckpointOption() = default;
  CheckpointOption(std::string path) : checkpoint_{.path = std::move(path)} {}
  CheckpointOption(const char* path) : checkpoint_{.path = path} {}
  CheckpointOption(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}
  const Checkpoint* operator->() const { return &checkpoint_; }
  bool empty() const { return checkpoint_.path.empty(); }

 private:
  Checkpoint checkpoint_;
};

/// The function that a Trainer calls after each epoch with the record. The function returns nothing, or Go::Stop to end the training; or EarlyStopping.
class EpochCallback {
 public:
  EpochCallback() = default;
  EpochCallback(EarlyStopping stopping) : stopping_(std::move(stopping)) {}
  template <class F>
  requires(!std::same_as<F, EarlyStopping> && !std::same_as<F, EpochCallback> && std::is_invocable_v<F&, const EpochRecord&>)
  EpochCallback(F f) : call_(std::move(f)) {}

  explicit operator bool() const { return static_cast<bool>(call_); }
  Go operator()(const EpochRecord& record) const { return call_(record); }
  std::optional<EarlyStopping>& stopping() { return stopping_; }

 private:
  Callback<EpochRecord> call_;
  std::optional<EarlyStopping> stopping_;
};

}  // namespace tegula
