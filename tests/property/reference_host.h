#pragma once

#include <map>

#include "tegula/graph/structural.h"
#include "tegula/tegula.h"
#include "tests/property/carry_out.h"
#include "tests/property/outcome.h"
#include "tests/support/reference.h"

namespace tegula::property {

/// Builds graph only: inputs and each version of each Variable are leaves without a value, known to the interpreter alone. A Variable is a
/// place: a value read from it is a leaf.
class ReferenceHost final : public Host {
 public:
  ReferenceHost(const Program& program, std::uint64_t noise) : program_(program), reference_(noise) { written_out = true; }
  Tensor input(int number) override { return leaf_of_program(number); }
  Tensor weight(int number) override { return leaf_of_program(number); }
  Tensor read(int number) override { return leaf_of_program(number); }
  void write(int number, const Tensor& value) override {
    const Tensor old = leaf_of_program(number);
    const Tensor fitted = cast(value, old.dtype());
    leaves_[number] = leaf(old.shape(), old.dtype(), reference_.of(fitted));
  }
  Wrt target(int, const Tensor& value) override { return value; }
  Generator& generator() override { return generator_; }

  Value value(const Tensor& t) { return {t.dtype(), t.shape(), reference_.of(t)}; }
  Outcome call() {
    Outcome out;
    for (const Tensor& t : carry_out(program_, *this)) out.values.push_back(value(t));
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (program_[i].op == "variable") out.values.push_back(value(leaf_of_program(static_cast<int>(i))));
    }
    return out;
  }

 private:
  const Tensor& leaf_of_program(int number) {
    Tensor& found = leaves_[number];
    if (found.defined()) return found;
    const Instruction& one = program_[static_cast<std::size_t>(number)];
    return found = leaf(one.shape, one.dtype, leaf_values(one.inputs.empty() ? one : program_[static_cast<std::size_t>(one.inputs[0])]));
  }
  Tensor leaf(const Shape& shape, DType dtype, const std::vector<double>& values) {
    const Tensor t(make<Node>(leaf_op(), std::span<const Ref<Node>>(), shape, dtype, Origin{}));
    reference_.define(t, values);
    return t;
  }
  const Program& program_;
  Reference reference_;
  std::map<int, Tensor> leaves_;
  Generator generator_{11};
};

}  // namespace tegula::property
