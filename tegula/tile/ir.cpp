#include "tegula/tile/ir.h"

#include <iterator>

namespace tegula::tile {
namespace {

// In the order of the enum, line by line as there.
// clang-format off
constexpr std::string_view kWordNames[] = {
    "parameter", "program_id", "num_programs", "constant", "arange",
    "broadcast", "expand_dims", "reshape", "transpose",
    "neg", "abs", "sign", "not", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt",
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfinv", "sigmoid", "lgamma", "digamma", "is_nan", "is_inf",
    "add", "sub", "mul", "div", "rem", "min", "max", "pow", "atan2", "and", "or", "xor", "shl", "shr", "mul_hi",
    "eq", "ne", "lt", "le", "gt", "ge", "select", "fma", "cast", "narrow", "bitcast",
    "load", "store", "atomic_add",
    "reduce", "arg_reduce", "scan", "sort", "argsort", "dot", "random_bits", "assert",
    "for", "if", "result", "region_parameter"};
// clang-format on
static_assert(std::size(kWordNames) == static_cast<std::size_t>(Word::RegionParameter) + 1);

constexpr std::string_view kReductionNames[] = {"sum", "prod", "min", "max", "any", "all"};
static_assert(std::size(kReductionNames) == static_cast<std::size_t>(Reduction::All) + 1);

}  // namespace

bool has_result(Word word) {
  return word != Word::Store && word != Word::AtomicAdd && word != Word::Assert && word != Word::For && word != Word::If;
}

bool has_effect(Word word) { return word == Word::Store || word == Word::AtomicAdd || word == Word::Assert; }

bool is_elementwise(Word word) { return word >= Word::Neg && word <= Word::Bitcast; }

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
