#pragma once
// The reports of a Trainer.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tegula/train/evaluator.h"

namespace tegula {

/// One pass over the training data. Numbers that were not measured are NaN (no test data; accuracy when targets are not classes).
struct EpochRecord {
  std::int64_t epoch = 0;                  // from 1
  double train_loss = 0, train_accuracy = 0;  // means over the epoch, while the weights were changing
  double test_loss = 0, test_accuracy = 0;    // with the weights at its end
  double seconds = 0, rows_per_second = 0;    // training alone
  std::map<std::string, double> train_metrics = {}, test_metrics = {};  // TrainerOptions::metrics
};
using History = std::vector<EpochRecord>;

/// The position of a running training.
struct StepReport {
  std::int64_t epoch, epochs;   // epoch from 1
  std::int64_t batch, batches;  // batches done in this epoch
  std::int64_t step;            // steps of the optimiser done in all
  double loss;                  // of this batch; NaN also if nothing in it counts (TrainerOptions::count)
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

}  // namespace tegula
