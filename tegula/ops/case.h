#pragma once
// Declared cases: the facts about an op for the tests, the gradient checks and the support table. Each family lists its own beside its
// formulas, `std::vector<OpCase> arithmetic_cases();`, and tests/support/op_check.h runs them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// One input of a case. Values are drawn uniformly from [low, high] (integers: inclusive), from a generator seeded by the case.
struct CaseInput {
  Shape shape;
  double low = -2, high = 2;
  /// Nothing: the dtype under test. Otherwise the same in every run: i64 for indices, boolean for masks.
  std::optional<DType> dtype = {};
  /// Check the gradient (only if the dtype is a float).
  bool differentiable = true;
  /// Values for which finite differences mean nothing (kinks, jumps): those drawn within 1e-2 of one are moved away in the gradient check.
  std::vector<double> kinks = {};
};

inline const std::vector<DType> kFloats{f64, f32, f16, bf16};
inline const std::vector<DType> kIntegers{i64, i32, i16, i8, u64, u32, u16, u8};
inline const std::vector<DType> kNumbers{f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8};
/// All that is computed in.
inline const std::vector<DType> kComputed{f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean};
inline const std::vector<DType> kEverything{f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean};

/// The f64 meaning of a case that no node of the graph can give: dense row-major inputs in, dense row-major output out.
using CaseReference = std::function<std::vector<double>(const std::vector<std::vector<double>>& inputs)>;

struct OpCase {
  std::string op;  // the row of the support table: "gelu"
  std::function<Tensor(const std::vector<Tensor>&)> function;
  std::vector<CaseInput> inputs;
  std::vector<DType> dtypes = kFloats;
  /// Tried too, with these shapes instead of the inputs' (one for each input): odd, empty and scalar sizes.
  std::vector<std::vector<Shape>> more_shapes = {};
  /// Off for ops without a gradient by nature (comparisons, counts).
  bool gradient = true;
  /// Check the gradient of the gradient, too.
  bool second = true;
  /// Error allowed, as a multiple of the machine epsilon of the dtype, relative to max(1, |expected|).
  double tolerance = 16;
  /// The value jumps at positions that rounding decides: one element in a hundred may be on the other side.
  bool jumps = false;
  /// Makes a generator of its own at each call, which no trace may do.
  bool draws = false;
  /// Without it the reference is the graph of the case, interpreted in f64 node by node.
  CaseReference reference = {};
};

/// Cases of one input over the standard shapes: 1023, (7, 33), (0, 3), (), each contiguous, strided and transposed.
OpCase unary_case(std::string op, Tensor (*function)(Arg), double low, double high, std::vector<double> kinks = {});
/// Two inputs: equal shapes, broadcast rows and columns, empty ones.
OpCase binary_case(std::string op, Tensor (*function)(Arg, Arg), double low, double high);
OpCase binary_case(std::string op, Tensor (*function)(Arg, Arg), CaseInput a, CaseInput b);

// The families of this room that are elementwise; the others declare theirs in their headers.
std::vector<OpCase> arithmetic_cases();
std::vector<OpCase> math_cases();
std::vector<OpCase> compare_cases();
std::vector<OpCase> logic_cases();
std::vector<OpCase> activation_cases();

}  // namespace tegula
