#pragma once
// The variables of one Keras layer, and the tensors that they are here.

#include <map>
#include <string>
#include <vector>

#include "tegula/io/keras/keras.h"

namespace tegula::io::keras {

struct Part {
  HostArray array;
  std::string path;  // in the file
};
/// Parts by part and name: "", "forward", "backward", "query", "key", "value", "output"; "kernel".
using Parts = std::map<std::string, std::map<std::string, Part>>;

struct LayerWeights {
  std::string name;                 // with the names of outer models where its own is not the only one
  std::string kind;                 // "Conv2D"
  std::int64_t inputs_channels = 0;   // of a map that it sees as a row, or 0
  std::int64_t outputs_channels = 0;  // of a map that its row becomes, or 0
  Parts parts;
};

/// The tensors of a layer. Throws Error in the name of the file for weights that are not those of their class.
std::vector<KerasTensor> tensors_of(const LayerWeights& layer, std::string_view file);
/// The class of a layer by its variables alone: a transposed convolution is told by its bias, where that is possible.
std::string kind_of_variables(const std::string& name, const Parts& parts);
/// The names of variables in the order in which a class numbers them; empty for classes that are not known.
std::vector<std::string> numbered_names(const std::string& kind, std::size_t count);

}  // namespace tegula::io::keras
