#pragma once
// Shared by `tegula train table` and `tegula train images`: options, the course of a training in the terminal, the best weights.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.h"
#include "app/train_log.h"
#include "tegula/data/dataset.h"
#include "tegula/nn/state.h"
#include "tegula/train/trainer.h"

namespace tegula::app {

struct OwnTraining {
  std::string op;  // "tegula train table"
  double validation = 0.2;
  std::int64_t epochs = 100, batch = 32, patience = 10;
  double lr = 1e-3, weight_decay = 0.01;
  std::uint64_t seed = 0;
  std::string out, plot, checkpoint, resume;
  TrainLogChoice log;
};
/// `rows`: the name of the training samples, "rows" or "pictures".
void add_options(Command& command, OwnTraining& choice, const std::string& rows);

/// Tries out the output files, so that they do not fail after an hour of training. Seeds the generator.
void begin(const OwnTraining& choice);

/// The measure of an epoch, for the table and for the choice of the best one.
struct Goodness {
  std::string name;  // "right", "mean error"
  std::function<std::string(const EpochRecord&)> text;
  std::function<double(const EpochRecord&)> badness;  // smaller is better
};
/// The share that is right.
Goodness right_answers();

/// Rows to train on and rows to measure by, drawn at random; of classes each gets its share.
struct RowSplit {
  std::vector<std::int64_t> train, test;
};
RowSplit split_rows(std::int64_t rows, const OwnTraining& choice, const std::vector<std::int64_t>& classes);

/// Early stopping for TrainerOptions: it ends when `patience` epochs have brought nothing better, with the best weights.
EarlyStopping best_of(const OwnTraining& choice, const Goodness& goodness);
/// Trains, with a line for each epoch, from `resume` on where that is given. Throws Error when the loss is no number.
History train_with_report(Trainer& trainer, const OwnTraining& choice, const Goodness& goodness, const std::string& rows,
                          const data::AnyDataset& train, const data::AnyDataset& test);
/// The learning curve as a picture; that it cannot be drawn is a warning.
void draw_curve(const std::string& path, const History& history, const std::string& title);

/// "tegula.model" of a file: "table", "images", …; empty for another file.
std::string kind_of_model(const std::string& path);

/// FOLDER/train and FOLDER/val (or valid, validation, test), where data sets come so; else nothing.
std::optional<std::pair<std::string, std::string>> own_parts(const std::string& folder);

/// Names as a terminal may show them: "cat, dog".
std::string joined(const std::vector<std::string>& names);

}  // namespace tegula::app
