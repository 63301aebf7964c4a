#pragma once
// A model of any kind that a file holds, with inputs as it takes them: for commands that show its graph.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tegula/nn/summary.h"

namespace tegula::app {

struct FileModel {
  std::string kind;    // "gpt2", "table"
  Parameters state;
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> forward;  // keeps the model
  std::function<Summary()> summary;
};

/// A text, table or picture model of one's own, in evaluation mode, over `batch` texts of `length` tokens (of as many as it can look at, where these are fewer), rows or
/// pictures. Nothing for any other file: the name of a listed model, or a file with one (models/registry.h). Throws Error for a file that is broken.
std::optional<FileModel> model_in(const std::string& path, std::int64_t batch, std::int64_t length);

}  // namespace tegula::app
