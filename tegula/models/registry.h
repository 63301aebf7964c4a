#pragma once
// Models by name, and in files that say which model they hold.

#include <span>
#include <string>
#include <string_view>

#include "tegula/io/safetensors.h"
#include "tegula/models/options.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

struct Entry {
  std::string_view name;
  std::string_view description;
  Shape input;  // shape of one sample
  nn::Layer (*make)(const Options& options);
  Options defaults;  // options that train well …
  double lr;         // … with Adam, at the peak of a one-cycle schedule and batches of 128
};

/// Every model there is; the list is in registry.cpp.
std::span<const Entry> all();
/// Throws Error for a name that is not on the list, with the names of the list.
const Entry& find(std::string_view name);

/// A network with the data needed to build it again.
struct Model {
  std::string name;
  Options options;
  Shape input;  // shape of one sample
  nn::Layer net;
};

/// With new weights from the default generator. Throws Error for an unknown name and options that make no sense.
Model make(std::string_view name, const Options& options);
Model make(std::string_view name);

/// The metadata that load() needs to build the model: name and options.
io::Metadata describe(const Model& model);
/// Writes weights and description as safetensors, atomically.
void save(const std::string& path, const Model& model);
/// Builds the model that the file (of save, or a checkpoint with describe() as metadata) holds. Throws Error when it does not say which, or
/// when the weights do not fit.
Model load(const std::string& path);

}  // namespace tegula::models
