// The data and the model: arguments shared by several commands.

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <system_error>

#include "app/commands.h"
#include "app/progress.h"
#include "app/suggest.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/data/augment.h"
#include "tegula/data/cifar.h"
#include "tegula/data/digits.h"
#include "tegula/data/image_folder.h"
#include "tegula/data/loader.h"
#include "tegula/data/mnist.h"
#include "tegula/data/split.h"
#include "tegula/io/file.h"

namespace tegula::app {
namespace {

constexpr std::int64_t kDrawnTrain = 30'000, kDrawnTest = 5'000;
constexpr std::uint64_t kTrainSeed = 1, kTestSeed = 2;  // fixed, so that every run is tested on the same digits

std::vector<std::string> model_names() {
  std::vector<std::string> all;
  for (const auto& entry : models::all()) all.emplace_back(entry.name);
  return all;
}
std::string names() {
  std::string text;
  for (const auto& name : model_names()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::pair<data::ArrayDataset, data::ArrayDataset> arrays_of(const std::pair<data::LabelledImages, data::LabelledImages>& sets) {
  return {sets.first, sets.second};
}

/// folder/train/class/*.png and folder/test, or as many of each as --limit says, drawn at random.
std::pair<data::ArrayDataset, data::ArrayDataset> pictures_of_classes(const DataChoice& choice, const Shape& input) {
  const auto read = [&](const std::string& folder) {
    const data::ImageFolder set(folder, {.colours = data::Colours::Rgb, .size = {input[1], input[2]}});
    std::vector<std::int64_t> rows = data::range(0, set.size());
    if (choice.limit > 0 && choice.limit < set.size()) {
      const double share = static_cast<double>(choice.limit) / static_cast<double>(set.size());
      rows = data::split(set.size(), {share, 1 - share}, {.strata = set.labels()})[0];
    }
    data::Loader loader(data::subset(set, rows), {.batch = static_cast<std::int64_t>(rows.size())});
    const data::Batch all = *loader.next();
    return data::ArrayDataset(all.x, all.y);
  };
  return {read(choice.folder + "/train"), read(choice.folder + "/test")};
}

/// Takes the whole text for one number that `fits`, or reports the text and the expectation. CLI11's own checks accept nan, and numbers that
/// fit into no integer as the greatest.
template <class T>
Check number(const std::string& expected, const std::string& type, std::function<bool(T)> fits) {
  return {type, [=](const std::string& text) -> std::string {
            T value{};
            const char* const end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc::result_out_of_range) return "got " + text + ", a number that is too large";
            return error == std::errc() && rest == end && fits(value) ? "" : "got " + text + ", expected a number " + expected;
          }};
}

}  // namespace

Check positive() {
  return number<std::int64_t>("above 0", "POSITIVE", [](std::int64_t value) { return value > 0; });
}
Check not_negative() {
  return number<std::int64_t>("of at least 0", "NONNEGATIVE", [](std::int64_t value) { return value >= 0; });
}
Check any_count() {
  return number<std::uint64_t>("of at least 0", "NONNEGATIVE", [](std::uint64_t) { return true; });
}
Check positive_real() {
  return number<double>("above 0", "POSITIVE", [](double value) { return value > 0 && std::isfinite(value); });
}
Check between(double low, double high) {
  return number<double>(format("from %g to %g", low, high), format("%g to %g", low, high),
                        [=](double value) { return value >= low && value <= high; });
}
Check not_empty(const std::string& complaint) {
  return {"", [complaint](const std::string& text) { return text.empty() ? complaint : ""; }};
}

void add_options(Command& command, DataChoice& choice) {
  command
      .option("--data", choice.folder,
              "folder of the files of MNIST (idx, plain or .gz), or of CIFAR-10 (binary, or train/class/*.png and test); without it the "
              "program draws digits")
      .check(not_empty())
      .type("DIR");
  command.option("--limit", choice.limit, "use only the first N images of each set").check(positive()).type("N");
}

Sets read_sets(const DataChoice& choice, const Shape& input) {
  Sets sets;
  const bool is_coloured = !input.empty() && input[0] == 3;
  if (choice.folder.empty() && is_coloured) {
    throw Error({.op = "tegula",
                 .got = "a model of coloured images " + to_string(input) + " without any",
                 .expected = "--data FOLDER: data_batch_1.bin … of CIFAR-10, or train/class/*.png and test/class/*.png"});
  }
  if (choice.folder.empty()) {
    const auto count = [&](std::int64_t all) { return choice.limit > 0 ? std::min(choice.limit, all) : all; };
    sets.train = data::draw_digits(count(kDrawnTrain), kTrainSeed);
    sets.test = data::draw_digits(count(kDrawnTest), kTestSeed);
  } else {
    const auto [train, test] = !is_coloured                              ? arrays_of(data::mnist(choice.folder))
                               : io::is_folder(choice.folder + "/train") ? pictures_of_classes(choice, input)
                                                                         : arrays_of(data::cifar10(choice.folder));
    sets.train = train;
    sets.test = test;
    if (choice.limit > 0) {
      sets.train = sets.train.first(choice.limit);
      sets.test = sets.test.first(choice.limit);
    }
  }
  Shape expected = input;
  expected.insert(0, sets.train.size());
  if (!(sets.train.inputs.shape == expected)) {
    throw Error({.op = "tegula",
                 .got = "images " + to_string(sets.train.inputs.shape),
                 .expected = to_string(expected) + ", what this model takes",
                 .advice = "choose a model for this size"});
  }
  sets.changed = sets.train;
  if (is_coloured) sets.changed = data::augmented(sets.train, data::RandomCrop{.padding = 4}, data::RandomFlip{});
  sets.description =
      format("%lld training and %lld test images, %s", static_cast<long long>(sets.train.size()), static_cast<long long>(sets.test.size()),
             choice.folder.empty() ? "drawn by the program" : choice.folder.c_str());
  return sets;
}

void add_options(Command& command, ModelChoice& choice, ModelFiles files) {
  command.option("model", choice.name_or_file, (files == ModelFiles::Yes ? "a model file, or one of: " : "") + names())
      .required()
      .type("MODEL")
      .suggests(model_names());
  command.option("--dropout", choice.dropout, "probability of the dropout layer, 0 for none").check(between(0.0, 0.99)).type("P");
  command.flag("--batch-norm", choice.batch_norm, "batch normalisation before each ReLU");
}

void add_options(Command& command, TrainLogChoice& choice) {
  command.option("--log", choice.file, "the course of the training in JSON lines").check(not_empty()).type("FILE");
  command.option("--tensorboard", choice.folder, "a folder for TensorBoard's event files").check(not_empty()).type("DIR");
  command.option("--log-every", choice.every, "steps between two records of --log and --tensorboard")
      .check(positive())
      .shows_default()
      .type("N");
}

void add_checkpoint(Command& command, std::string& checkpoint, std::string& resume) {
  command.option("--checkpoint", checkpoint, "written after each epoch: everything needed to go on").check(not_empty()).type("FILE");
  command.option("--resume", resume, "go on from a checkpoint, with the options it was made with").check(not_empty()).type("FILE");
}

void add_precision(Command& command) {
  command
      .option(
          "--precision", [](const std::string& chosen) { set_default_precision(precision_of(chosen).value_or(Precision::fp32)); },
          "of matmul and convolution; weights, reductions and losses stay f32")
      .check(one_of({"fp32", "tf32", "bf16", "fp16", "fp8"}))
      .shows_default("fp32");
}

models::Model make_model(const ModelChoice& choice) {
  if (is_file(choice.name_or_file)) return models::load(choice.name_or_file);
  const std::vector<std::string> known = model_names();
  if (std::find(known.begin(), known.end(), choice.name_or_file) == known.end()) {
    const std::string near = nearest(choice.name_or_file, known);
    throw Error({.op = "tegula",
                 .got = "the model " + choice.name_or_file + ", which is no file",
                 .expected = "a model file, or one of " + names(),
                 .advice = near.empty() ? "" : "did you mean " + near + "?"});
  }
  models::Options options = models::find(choice.name_or_file).defaults;
  if (choice.dropout) options.dropout = *choice.dropout;
  options.batch_norm |= choice.batch_norm;
  return models::make(choice.name_or_file, options);
}

}  // namespace tegula::app
