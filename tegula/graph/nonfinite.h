#pragma once
// Where NaN and infinities come from. Declared here, defined in compile/: the link goes up, the includes do not.

#include <optional>
#include <string>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

/// What a tensor holds.
struct Extent {
  std::string name;  // "hidden.weight" for a Variable that parameters(net) listed, else what made it: "matmul"
  DType dtype = DType::f32;
  Shape shape;
  double minimum = 0, maximum = 0;  // of the finite elements; 0 when there are none
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
  bool given = false;  // nobody computed it: it stands in data, in a Variable, or is a number of the program

  /// "sqrt at net.cpp:12: f32(3,) from 1.4 to 2.8, 1 nan, in or behind the module 'hidden'; of matmul f32(3,) from -4 to 8".
  std::string text() const;
  std::string details() const;  // without op and line
};

/// What made the non-finite elements of `values` (a loss, its gradients), or nothing when all are finite. Walks up through what is not
/// finite only: an infinity that a mask takes out again is no matter. Computes every value on the way, so it is for finding a mistake, on
/// tensors whose history is there: outside of jit. In a trace it is an error.
/// With TEGULA_CHECK=nan in the environment this is done wherever values are computed, jit-ed functions are plain calls, and what is
/// found is an Error at the op's line (but for infinities that were given, as masks are); grad then warns of parameters it does not reach.
std::optional<NonFinite> find_nonfinite(const std::vector<Tensor>& values, Line where = Line::current());
std::optional<NonFinite> find_nonfinite(const Tensor& value, Line where = Line::current());

/// Whether TEGULA_CHECK=nan is on.
bool checks_nonfinite();

}  // namespace tegula
