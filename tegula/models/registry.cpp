#include "tegula/models/registry.h"

#include "tegula/core/error.h"
#include "tegula/models/cifar.h"
#include "tegula/models/description.h"
#include "tegula/models/mnist.h"
#include "tegula/nn/state.h"

namespace tegula::models {
namespace {

template <class Net>
nn::Layer build(const Options& options) {
  return Net{options};
}

}  // namespace

// The list. A model is a struct with Options as its first field and one line here.
std::span<const Entry> all() {
  static const Entry entries[] = {
      {"mnist-mlp", "784-128-10 with ReLU", {1, 28, 28}, build<MnistMlp>, {}, 1e-2},
      {"mnist-cnn", "convolutions 3x3x12, 6x6x24 /2, 6x6x32 /2, dense 200", {1, 28, 28}, build<MnistCnn>, {.dropout = 0.4}, 4e-3},
      {"lenet5", "LeNet-5 with ReLU and max pooling", {1, 28, 28}, build<LeNet5>, {}, 6e-3},
      {"resnet20", "residual net of 20 layers for CIFAR's 32 x 32 colours", {3, 32, 32}, build<ResNet20>, {}, 1e-2},
  };
  return entries;
}

const Entry& find(std::string_view name) {
  std::string names;
  for (const Entry& entry : all()) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error({.op = "models", .got = "the name \"" + std::string(name) + "\"", .expected = "one of " + names});
}

Model make(std::string_view name, const Options& options) {
  const Entry& entry = find(name);
  if (!(options.dropout >= 0 && options.dropout < 1) || options.classes < 1 || options.classes > 1'000'000) {
    throw Error({.op = "models::make",
                 .got = "dropout " + number_text(options.dropout) + ", " + std::to_string(options.classes) + " classes",
                 .expected = "dropout in [0, 1) and at least one class"});
  }
  return {std::string(name), options, entry.input, entry.make(options)};
}

Model make(std::string_view name) { return make(name, find(name).defaults); }

io::Metadata describe(const Model& model) {
  return {{kModelKey, model.name},
          {"tegula.classes", std::to_string(model.options.classes)},
          {"tegula.dropout", number_text(model.options.dropout)},
          {"tegula.batch_norm", model.options.batch_norm ? "1" : "0"}};
}

void save(const std::string& path, const Model& model) { save_safetensors(state_dict(model.net), path, describe(model)); }

Model load(const std::string& path) {
  const io::Safetensors file = io::read_safetensors(path);
  const auto name = file.metadata.find(kModelKey);
  if (name == file.metadata.end()) {
    throw Error({.op = "models::load",
                 .got = path + ": no entry " + std::string(kModelKey) + " in its metadata",
                 .expected = "a file written by tegula train or models::save",
                 .advice = "build the network yourself and call load(net, path)"});
  }
  find(name->second);  // of another kind (gpt2, lstm …): the error for its name is clearer than one for a missing description
  const Description description(file.metadata, path);
  Options options;
  options.classes = description.whole_number("tegula.classes", 1e6);
  options.dropout = description.number("tegula.dropout");
  options.batch_norm = description.whole_number("tegula.batch_norm", 1) != 0;
  Model model = make(name->second, options);
  tegula::load(model.net, model_state(file));
  return model;
}

}  // namespace tegula::models
