#pragma once
// A function to show or to compile: a model's forward pass or training step, or the function of a graph file.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "tegula/graph/variable.h"

namespace tegula::app {

struct FunctionChoice {
  ModelChoice model;
  std::int64_t batch = 64, length = 16;
  bool step = false;
};
void add_options(Command& command, FunctionChoice& choice);

/// The function, arguments for it (with values), and the names of its Variables.
struct ChosenFunction {
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
  std::vector<Tensor> arguments;
  Parameters state;
  std::string title;
};
/// `gradients`: the results of a step are its gradients and loss, instead of Adam's updates.
ChosenFunction chosen_function(const FunctionChoice& choice, const std::string& command, bool gradients = false);

}  // namespace tegula::app
