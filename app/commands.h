#pragma once
// The commands. Each add_… declares one, with what it runs.

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tegula/data/dataset.h"
#include "tegula/graph/precision.h"
#include "tegula/models/registry.h"

namespace tegula::app {

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_summary(CLI::App& app);
void add_graph(CLI::App& app);
void add_info(CLI::App& app);
void add_bench(CLI::App& app);
void add_kernel(CLI::App& app);

// What a number may be, said in words where it is not.
CLI::Validator positive();      // whole
CLI::Validator not_negative();  // whole
CLI::Validator any_count();     // whole, up to 64 bits
CLI::Validator positive_real();
CLI::Validator between(double low, double high);
/// A variable of the shell that is not set must not stand for "no file".
CLI::Validator not_empty();

/// --device: where everything is computed from then on. A device that is not there ends the program with the sentence that says why.
void add_device_option(CLI::App& command);

/// Which images to use.
struct DataChoice {
  std::string folder;      // of the MNIST files; empty: digits drawn by the program
  std::int64_t limit = 0;  // images of each set; 0: all
};
void add_options(CLI::App& command, DataChoice& choice);

struct Sets {
  data::ArrayDataset train, test;
  std::string description;  // "60000 + 10000 images from data/mnist"
};
/// Throws Error also when the images are not of shape `input`.
Sets read_sets(const DataChoice& choice, const Shape& input);

/// --precision: the default of the process, so that all that follows uses it.
void add_precision(CLI::App& command);

/// A model as the user describes it: a name with options, or a file.
struct ModelChoice {
  std::string name_or_file;
  std::optional<double> dropout;
  bool batch_norm = false;
};
void add_options(CLI::App& command, ModelChoice& choice);
/// A new model, or the one in the file.
models::Model make_model(const ModelChoice& choice);

}  // namespace tegula::app
