#pragma once
// The ops random graphs are made of: those of any shape are listed here, all others come from the declared cases (ops/case.h).

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/ops/case.h"
#include "tegula/ops/random.h"
#include "tests/property/program.h"

namespace tegula::property {

/// Thrown where an op means nothing for such operands.
struct Unfit {};

/// One use of an op: its operands, and the knobs as attributes.
struct Use {
  std::span<const Tensor> x;
  Knobs knobs;
  Generator* generator;
  bool written_out = false;  // loops as their steps, one after another: for the reference

  /// A number in [0, n); Unfit when there is none.
  int pick(int knob, std::int64_t n) const;
  int axis(int knob, const Tensor& t) const { return pick(knob, t.rank()); }
  /// Operand i as floats.
  Tensor real(std::size_t i) const;
  /// Operand i as small integers; of a signed type.
  Tensor whole(std::size_t i) const;
  /// Operand i as numbers that count the elements of an axis of this size.
  Tensor index(std::size_t i, std::int64_t size) const;
};

struct GraphOp {
  std::string name;
  int inputs;
  double weight;  // how often it is drawn
  std::function<Tensor(const Use&)> build;
};

/// All of them, declared cases among them as "case:<op>" and "case:<op>/<number>".
const std::vector<GraphOp>& graph_ops();
const GraphOp& graph_op(const std::string& name);

/// The elements of x, repeated or cut, as this shape.
Tensor resized(const Tensor& x, const Shape& shape);

std::vector<GraphOp> elementwise_ops();
std::vector<GraphOp> moving_ops();     // views, joins, gathers, sorts
std::vector<GraphOp> combining_ops();  // reductions, scans, products, networks
std::vector<GraphOp> loop_ops();
std::vector<GraphOp> declared_ops();
/// The cases that these are made of: all families but those of random numbers.
std::vector<OpCase> declared_cases();
/// Tensors for a case, drawn from its ranges: of these shapes, and of the dtype where an input names none.
std::vector<Tensor> operands_of(const OpCase& one, DType dtype, const std::vector<Shape>& shapes);

}  // namespace tegula::property
