#pragma once
// The tile IR: what fusion lowers to and what tile kernels are traced into.
//
// A program is run once per point of a grid of up to three dimensions. Its values are scalars (rank 0, the same for the whole
// instance) or tiles: small dense arrays whose sizes are known when the program is built. The model is Triton's (Tillet et al.,
// MAPL 2019): pointers are values, loads and stores take tiles of pointers and masks. The form is SSA with structured control flow.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/line.h"
#include "tegula/core/shape.h"

namespace tegula::tile {

/// What a value is. Pointers point at elements of `dtype`; pointer arithmetic counts elements.
/// Arithmetic happens in f64, f32, i64, i32, u64, u32 and boolean only: loads widen f16/bf16/e4m3/e5m2 to f32 and i16/i8/u16/u8 to i32,
/// stores narrow back (floats to nearest even, integers modulo 2^n). So `dtype` of a non-pointer value is one of those seven.
struct Type {
  DType dtype = DType::f32;
  bool pointer = false;
  Shape shape;  // () for a scalar
  bool operator==(const Type&) const = default;
};

/// The type in which arithmetic on elements of a stored type happens.
constexpr DType compute_type(DType stored) {
  if (size_of(stored) > 2 || stored == DType::boolean) return stored;
  return is_float(stored) ? DType::f32 : DType::i32;
}

using Id = std::int32_t;  // index into Program::instructions; every instruction defines at most one value

// Elementwise words take operands of equal dtype, each either of the result's shape or a scalar (which broadcasts); nothing else broadcasts implicitly.
// clang-format off: words of a kind on one line
enum class Word : std::uint8_t {
  // From outside. attribute = index of the parameter / grid axis; Arange counts attribute … attribute + shape[0] - 1.
  Parameter, ProgramId, NumPrograms, Constant, Arange,
  // Shape. Broadcast: size-1 axes grow, or a scalar fills a tile. ExpandDims inserts a size-1 axis at `attribute`. Transpose: rank 2.
  Broadcast, ExpandDims, Reshape, Transpose,
  // One operand.
  Neg, Abs, Sign /* (x > 0) - (x < 0): 0 for NaN */, Not /* boolean: logical; integer: bitwise */, Popcount /* integer: its bits that are set */,
  Floor, Ceil, Round /* half to even */, Trunc, Sqrt, Rsqrt,
  Exp, Exp2, Expm1, Log, Log2, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfinv,
  Sigmoid, Lgamma, Digamma, IsNan, IsInf,
  // Two operands. Integer Div truncates and Rem has the sign of the dividend (as in C); division of an integer by 0 gives 0, in both.
  // Add and Sub also take (pointer, i64 offset) and give a pointer. Min and Max propagate NaN. Pow and Atan2 take floats. Shr is
  // arithmetic for signed and logical for unsigned dtypes; shift amounts outside [0, width) mean nothing. MulHi: upper half of the product of two
  // integers taken as unsigned.
  Add, Sub, Mul, Div, Rem, Min, Max, Pow, Atan2, And, Or, Xor, Shl, Shr, MulHi,
  Eq, Ne, Lt, Le, Gt, Ge,  // booleans
  Select,                  // (condition, a, b)
  Fma,                     // a * b + c, rounded once where the machine can
  Cast,                    // float to integer truncates toward zero; beyond its range: the end that is nearer; NaN: any value. To boolean: != 0
  Narrow,                  // i32 wrapped to the range of the stored type attribute = DType (i16, i8, u16, u8); f32 rounded to f16/bf16/e4m3/e5m2 and back
  Bitcast,                 // between dtypes of one width
  Hint,                    // the operand, of which something is known: attribute = HintKind, attribute2 = the number
  // Memory. Load(pointer[, mask[, other]]): masked-off elements are `other` or zero. Store(pointer, value[, mask]). `attribute`: access_hints.h.
  // Atomic(pointer, value[, mask]), of CompareAndSwap (pointer, value, compared[, mask]): `attribute` says what it does (atomic.h). It gives what was there
  // before, zero where masked off. Elements of a tile come one after another; instances in the order of the program ids on the CPU, and for all that is_changed_freely leaves out.
  Load, Store, Atomic,
  // Across a tile: along axis `attribute`, kind in `kind`. Reduce keeps the axis with size 1. ArgReduce gives i64 positions (first of equals; a NaN
  // wins). Scan is inclusive. Sort, ArgSort: stable, as attribute2 says (sort_order.h); NaN is largest.
  Reduce, ArgReduce, Scan, Sort, ArgSort,
  Dot,         // (M, K) x (K, N) + accumulator (M, N), or (B, M, K) x (B, K, N) + (B, M, N); f32, f64, i32 and u32
  Gather,      // (x, places i64): x[…, place, …] along axis `attribute`, of the places' shape, whose other sizes are x's; 0 where a place is outside
  Histogram,   // (x i64, of rank 1[, mask]) -> i32: how often each of 0 … shape[0] - 1 comes
  RandomBits,  // (seed i64 scalar, index i64 tile) -> i32: philox_word(seed, index)
  InlineAsm,   // element by element what the text `attribute` of the program says, which has no effects
  Assert,      // (condition, value i64): where the condition is false the launch reports (attribute, value) as its failure
  Assume,      // (condition, a bool scalar): holds
  Print,       // (value): shows the text `attribute` of the program and the value's first elements
  Barrier,     // the threads of an instance wait for each other
  // Control. For: operands (begin, end, step > 0, initial…), region (induction variable i64, carried…) -> carried…
  // While: operands (condition, initial…), region (number of the iteration i64, carried…) -> carried…, and last whether there is another one.
  // If: operands (condition), two regions without parameters. Result: `attribute`-th result of the For/While/If in operand 0.
  For, While, If, Result,
  RegionParameter,
};
// clang-format on

enum class Reduction : std::uint8_t { Sum, Prod, Min, Max, Any, All };

/// Of tiles MultipleOf is about the first of those that Contiguous (or the tile itself) says lie one after another; Constant: as many are equal.
enum class HintKind : std::uint8_t { MultipleOf, Contiguous, Constant };

struct Region {
  std::vector<Id> parameters;  // RegionParameter instructions
  std::vector<Id> body;  // in order of execution
  std::vector<Id> results;  // what the region yields
};

struct Instruction {
  Word word;
  Type type;  // of the result; meaningless for Store, Assert, For, While, If
  std::vector<Id> operands;
  std::int64_t attribute = 0;
  std::int64_t attribute2 = 0;
  Reduction kind = Reduction::Sum;
  double real = 0;  // Constant of a float type
  std::int64_t integer = 0;  // Constant of an integer or boolean type; of u64 its bits
  std::vector<Region> regions;
  Line where{};
};

/// A run-time argument: a pointer to elements of `dtype`, or a scalar of `dtype`, a compute type.
struct Parameter {
  std::string name;
  DType dtype = DType::f32;
  bool pointer = true;
  bool writable = false;
  bool unwritten = false;  // no step of the plan writes what it points at: an early program may read it before it waits
};

/// What InlineAsm and Print say.
struct Text {
  std::string text;  // PTX with $0 for the result, $1 … for the operands; a label
  std::string constraints;  // "=r,r,r"
  struct Element {
    double real = 0;
    std::int64_t integer = 0;
  };
  std::function<Element(std::span<const Element>)> fallback;  // where there is no PTX; empty: there is none
};

struct Program {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Instruction> instructions;  // all of them, addressed by Id; order of execution is given by regions
  Region body;
  bool many_sizes = false;  // is on the ladder: code that knows little about its arguments serves more of them
  bool early = false;  // a launch may begin while the one ahead of it runs, and waits for that before it touches what the plan writes
  std::vector<Text> texts;

  const Instruction& operator[](Id id) const { return instructions[static_cast<std::size_t>(id)]; }
};

bool has_result(Word word);
bool has_effect(Word word);  // Store, Atomic, Assert, Assume, Print, Barrier
constexpr bool is_loop(Word word) { return word == Word::For || word == Word::While; }
/// Where among a loop's operands the initial values of what it carries begin.
constexpr std::size_t first_carried(Word loop) { return loop == Word::For ? 3 : 1; }
/// How many values a For, While or If gives.
std::size_t result_count(const Instruction& control);
/// Which operand of a Load, Store or Atomic is the mask, if there is one.
std::size_t mask_place(const Instruction& access);
bool is_elementwise(Word word);  // one, two and three operand words, Cast, Narrow, Bitcast, Hint
std::string_view name(Word word);
std::string_view name(Reduction kind);

/// "f32[8, 128]", "ptr<f16>", "i64".
std::string to_string(const Type& type);
/// Text of one instruction without its regions, "%5 = mul %3, %4 : f32[8, 128]".
std::string to_string(const Program& program, Id id);

/// Text of a program, one instruction a line, with the user's lines as comments.
std::string to_string(const Program& program);
/// The same for Graphviz (dot -Tsvg).
std::string to_dot(const Program& program);

/// Checks operands, types, shapes, dominance and region signatures; throws Error naming the instruction and the user's line.
void verify(const Program& program);

/// A word sequence that is equal for two programs exactly when they compute the same (names and source lines are left out).
std::vector<std::uint64_t> structure(const Program& program);

}  // namespace tegula::tile
