#pragma once
// Finds the origin of NaN and infinities. Declared here, defined in compile/: the link goes up, the includes do not.

#include <optional>
#include <string>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

/// The range of a tensor's values.
struct Extent {
  std::string name;  // "hidden.weight" for a Variable that parameters(net) listed, else what made it: "matmul"
  DType dtype = DType::f32;
  Shape shape;
  double minimum = 0, maximum = 0;  // of the finite elements; 0 if there are none
  std::int64_t nans = 0, infinities = 0;

  bool finite() const { return nans == 0 && infinities == 0; }
  /// "matmul f32(8, 4) from -1.2 to 3.4, 2 nan".
  std::string text() const;
  std::string values() const;  // without the name
};

/// The first op, in program order, that made a NaN out of inputs without one, or an infinity out of finite inputs.
struct NonFinite {
  std::string op;      // with the library's frames: "log", "Linear/linear"; of a gradient: "grad/Linear/linear"
  std::string module;  // of the nearest parameter at or below it: "blocks.0.attention"; "" without one
  Line where;
  Extent result;
  std::vector<Extent> inputs;
  bool given = false;  // not computed: it is data, in a Variable, or a constant of the program

  /// "sqrt at net.cpp:12: f32(3,) from 1.4 to 2.8, 1 nan, in or behind the module 'hidden'; of matmul f32(3,) from -4 to 8".
  std::string text() const;
  std::string details() const;  // without op and line
};

/// The node that made the non-finite elements of `values` (a loss, its gradients); nothing if all are finite. Follows non-finite inputs
/// only: an infinity that a mask removes again is not reported. Computes every value on its way, so it is a tool for debugging. The tensors must
/// have their history, as they do outside of jit; in a trace it is an error.
/// With TEGULA_CHECK=nan in the environment the check is made wherever values are computed, jit-ed functions are plain calls, and a
/// finding is an Error at the op's line (except for given infinities, such as masks); grad then also warns of parameters it does not reach.
std::optional<NonFinite> find_nonfinite(const std::vector<Tensor>& values, Line where = Line::current());
std::optional<NonFinite> find_nonfinite(const Tensor& value, Line where = Line::current());

/// True if TEGULA_CHECK=nan is set.
bool checks_nonfinite();

}  // namespace tegula
