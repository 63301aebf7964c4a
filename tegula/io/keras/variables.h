#pragma once
// The variables of a Keras model as its files store them, and the model's configuration.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/io/contents.h"

namespace tegula::io::keras {

struct Variable {
  std::vector<std::string> layers;  // from the outermost: {"block", "conv1"}, {"bi", "forward_lstm", "lstm_cell"}
  std::string name;                 // "kernel"; of files that number them "0"
  std::string path;                 // in the file
  HostArray array;
};

struct Stored {
  std::vector<Variable> variables;  // in the order of the file, layers in that of the model where the file has it
  nlohmann::json config;            // of the model: {"class_name": …, "config": …}, or null
  bool numbered = false;            // names are numbers, and layers without a name of their own have their class's: "conv2d_1"
};

/// Returns true if the path is the index of a TensorFlow checkpoint, or its name without an end.
bool is_checkpoint(const std::string& path);
Stored read_stored(const std::string& path, Contents contents);
Stored parse_stored(std::span<const std::byte> bytes, std::string_view name, Contents contents);

}  // namespace tegula::io::keras
