#pragma once
// Files that say which model they hold: weights as safetensors, and beside them its kind, its options by name and its tokenizers.

#include <map>
#include <string>

#include "tegula/io/safetensors.h"
#include "tegula/nn/state.h"

namespace tegula::models {

/// The description of a model in its file.
struct ModelDescription {
  std::string kind;                       // "translation-lstm"
  std::map<std::string, double> numbers = {};     // options
  std::map<std::string, std::string> texts = {};  // tokenizers as tokenizer.json, names of classes, …

  /// A whole number that must be there. Throws Error, naming `path`, when it is not, or outside [least, most].
  std::int64_t whole(const std::string& name, std::int64_t least, std::int64_t most, const std::string& path) const;
  double number(const std::string& name, double least, double most, const std::string& path) const;
  const std::string& text(const std::string& name, const std::string& path) const;
};

/// For a checkpoint's metadata, or a file of one's own.
io::Metadata metadata_of(const ModelDescription& description);
/// Writes the file atomically.
void write_model_file(const std::string& path, const ModelDescription& description, const StateDict& state);

struct ModelFile {
  ModelDescription description;
  StateDict state;  // the model's part of a checkpoint
};
/// Throws Error for a file that cannot be read, or does not describe its content.
ModelFile read_model_file(const std::string& path);
/// A model that a function loads: its kind, in words, and the command that writes it.
struct WantedModel {
  std::string op, kind, words, command;
};
/// The same. Throws Error in the name of wanted.op for a model of another kind.
ModelFile read_model_file(const std::string& path, const WantedModel& wanted);

}  // namespace tegula::models
