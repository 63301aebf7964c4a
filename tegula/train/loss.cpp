#include "tegula/train/loss.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"

namespace tegula {

Tensor Loss::operator()(const Tensors& outputs, const Tensors& targets, Line where) const {
  const auto value = [&] {
    if (!of_library_) return f_(outputs, targets, where);
    const In frame("loss", where);
    return f_(outputs, targets, where);
  }();
  if (value.shape(where).rank() != 0 && value.numel() != 1) {
    throw Error({.op = "loss",
                 .got = "a value of shape " + to_string(value.shape()),
                 .expected = "a number",
                 .advice = "take its mean over the batch",
                 .where = where});
  }
  return value;
}

void Loss::require_one(const Tensors& outputs, const Tensors& targets, const Line& where) {
  if (outputs.size() == 1 && targets.size() == 1) return;
  throw Error({.op = "loss",
               .got = std::to_string(outputs.size()) + " outputs and " + std::to_string(targets.size()) + " targets",
               .expected = "one of each for a loss of two tensors",
               .advice =
                   "write it as [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) { … }; the model gets the first "
                   "tensors of a batch (.inputs), the loss the others",
               .where = where});
}

void train_detail::throw_inputs(std::size_t inputs, const Line& where) {
  throw Error({.op = "Trainer",
               .got = ".inputs = " + std::to_string(inputs),
               .expected = "a number of tensors with which the model can be called",
               .where = where});
}

}  // namespace tegula
