#include "tegula/tile/ir.h"

#include <iterator>

#include "tegula/tile/atomic.h"

namespace tegula::tile {
namespace {

// In the order of the enum, line by line as there.
// clang-format off
constexpr std::string_view kWordNames[] = {
    "parameter", "program_id", "num_programs", "constant", "arange",
    "broadcast", "expand_dims", "reshape", "transpose",
    "neg", "abs", "sign", "not", "popcount", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt",
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfinv", "sigmoid", "lgamma", "digamma", "is_nan", "is_inf",
    "add", "sub", "mul", "div", "rem", "min", "max", "pow", "atan2", "and", "or", "xor", "shl", "shr", "mul_hi",
    "eq", "ne", "lt", "le", "gt", "ge", "select", "fma", "cast", "narrow", "bitcast", "hint",
    "load", "store", "atomic",
    "reduce", "arg_reduce", "scan", "sort", "argsort", "dot", "gather", "histogram", "random_bits", "inline_asm", "assert", "assume", "print", "barrier",
    "for", "while", "if", "result", "region_parameter"};
// clang-format on
static_assert(std::size(kWordNames) == static_cast<std::size_t>(Word::RegionParameter) + 1);

constexpr std::string_view kReductionNames[] = {"sum", "prod", "min", "max", "any", "all"};
static_assert(std::size(kReductionNames) == static_cast<std::size_t>(Reduction::All) + 1);

}  // namespace

bool has_result(Word word) { return word != Word::Store && (word < Word::Assert || word > Word::If); }

bool has_effect(Word word) { return word == Word::Store || word == Word::Atomic || (word >= Word::Assert && word <= Word::Barrier); }

std::size_t result_count(const Instruction& control) {
  const std::size_t yielded = control.regions.empty() ? 0 : control.regions[0].results.size();
  return control.word == Word::While && yielded > 0 ? yielded - 1 : yielded;
}

std::size_t mask_place(const Instruction& access) {
  if (access.word == Word::Load) return 1;
  return access.word == Word::Atomic && Atomic::of(access).kind == AtomicKind::CompareAndSwap ? 3 : 2;
}

bool is_elementwise(Word word) { return word >= Word::Neg && word <= Word::Hint; }

std::string_view name(Word word) { return kWordNames[static_cast<std::size_t>(word)]; }
std::string_view name(Reduction kind) { return kReductionNames[static_cast<std::size_t>(kind)]; }

std::string to_string(const Type& type) {
  std::string text(name(type.dtype));
  if (type.pointer) text = "ptr<" + text + ">";
  if (type.shape.empty()) return text;
  text += '[';
  for (int i = 0; i < type.shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(type.shape[i]);
  return text + ']';
}

}  // namespace tegula::tile
