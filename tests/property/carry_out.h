#pragma once
// A program on tensors: the same for every mode. The modes differ in the host.

#include <functional>
#include <vector>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/random.h"
#include "tests/property/program.h"

namespace tegula::property {

/// The inputs, weights and Variables of a program, by the numbers of their instructions.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;
  virtual Tensor input(int number) = 0;
  virtual Tensor weight(int number) = 0;
  virtual Tensor read(int number) = 0;
  virtual void write(int number, const Tensor& value) = 0;
  /// To differentiate by a leaf; `value` is what input or read gave.
  virtual Wrt target(int number, const Tensor& value) = 0;
  virtual void look(const Tensor& /*value*/, std::uint32_t /*how*/) {}
  virtual void made(int /*number*/, const Tensor& /*value*/) {}
  virtual Generator& generator() = 0;

  bool drops = false;        // handles end with their last use
  bool checkpoints = false;  // parts of the program are put under checkpoint
  bool written_out = false;  // loops are their steps
};

/// The kept values, then the gradients. Throws Unfit or Error if the program means nothing.
std::vector<Tensor> carry_out(const Program& program, Host& host);

/// The same in steps, for a program that still grows.
class Walk {
 public:
  Walk(const Program& program, Host& host);
  /// Carries out this instruction; those before it have been.
  void step(int number);
  /// The instruction's result; empty for a statement.
  const Tensor& value(int number) const { return values_[static_cast<std::size_t>(number)]; }
  std::vector<Tensor> run();

 private:
  void write(const Instruction& one, const Tensor& next);
  Wrt target(int number);
  void gradients(const Instruction& one);
  Tensor build(int number, const std::function<Tensor(int)>& value);
  void drop(int number);
  void fold();
  Tensor under_checkpoint(int root);
  Tensor inside(int number, const std::vector<int>& outside, const std::vector<Tensor>& x);

  const Program& program_;
  Host& host_;
  std::vector<Tensor> values_;
  std::vector<int> last_use_;
  std::vector<bool> folded_;  // made inside of the checkpoint of its user
  std::vector<bool> named_;   // looked at, written, differentiated by
  std::vector<Tensor> kept_, gradients_;
};

}  // namespace tegula::property
