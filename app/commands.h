#pragma once
// The commands. Each add_… declares one, with its work.

#include <cstdint>
#include <optional>
#include <string>

#include "app/command.h"
#include "tegula/data/dataset.h"
#include "tegula/graph/precision.h"
#include "tegula/models/registry.h"

namespace tegula::app {

void add_train(Command& app);
void add_eval(Command& app);
void add_predict(Command& app);
void add_summary(Command& app);
void add_graph(Command& app);
void add_compile(Command& app);
void add_run(Command& app);
void add_export(Command& app);
void add_info(Command& app);
void add_bench(Command& app);
void add_kernel(Command& app);
void add_tokenize(Command& app);
void add_words(Command& app);
void add_launch(Command& app);
void add_debug(Command& app);
void add_train_text(Command& train);  // what `tegula train` trains on texts: word vectors, tokenizers …
void add_train_language(Command& train);  // … language models
void add_train_classifier(Command& train);  // … classifiers of texts
void add_train_translate(Command& train);
void add_train_bert(Command& train);
void add_train_table(Command& train);   // on data of one's own: a table …
void add_train_images(Command& train);  // … and folders of pictures
void add_translate(Command& app);
void add_generate(Command& app);
void add_classify(Command& app);
void add_answer(Command& app);

/// --device: where everything is computed from then on. A device that is not there ends the program with the sentence that says why.
void add_device_option(Command& command);

/// The images to use.
struct DataChoice {
  std::string folder;      // of the files of MNIST or CIFAR; empty: digits drawn by the program
  std::int64_t limit = 0;  // images of each set; 0: all
};
void add_options(Command& command, DataChoice& choice);

struct Sets {
  data::ArrayDataset train, test;
  data::AnyDataset changed;  // the training images with random changes, where those suit them: moved and mirrored colours
  std::string description;  // "60000 + 10000 images from data/mnist"
};
/// Throws Error also when the images are not of shape `input`.
Sets read_sets(const DataChoice& choice, const Shape& input);

/// --log, --tensorboard and --log-every.
struct TrainLogChoice;
void add_options(Command& command, TrainLogChoice& choice);
/// --checkpoint and --resume of a training by epochs.
void add_checkpoint(Command& command, std::string& checkpoint, std::string& resume);

/// --precision: the default of the process, so that all that follows uses it.
void add_precision(Command& command);

/// A model as the user describes it: a name with options, or a file.
struct ModelChoice {
  std::string name_or_file;
  std::optional<double> dropout;
  bool batch_norm = false;
};
/// `files`: whether a model file may be given instead of a name.
enum class ModelFiles : std::uint8_t { No, Yes };
void add_options(Command& command, ModelChoice& choice, ModelFiles files = ModelFiles::No);
/// A new model, or the one in the file.
models::Model make_model(const ModelChoice& choice);

}  // namespace tegula::app
