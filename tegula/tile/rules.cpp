#include "tegula/tile/rules.h"

#include <utility>

#include "tegula/tile/access_hints.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/sort_order.h"

namespace tegula::tile {
namespace {

constinit const std::string kFine;

std::pair<std::size_t, std::size_t> operand_count(Word word) {
  if (word <= Word::Arange) return {0, 0};
  if (word <= Word::IsInf) return {1, 1};
  if (word <= Word::Ge) return {2, 2};
  switch (word) {
    case Word::Select:
    case Word::Fma:
    case Word::Dot: return {3, 3};
    case Word::Load: return {1, 3};
    case Word::Store: return {2, 3};
    case Word::Atomic: return {2, 4};
    case Word::RandomBits:
    case Word::Gather:
    case Word::Assert: return {2, 2};
    case Word::Histogram: return {1, 2};
    case Word::InlineAsm: return {0, 16};
    case Word::Barrier: return {0, 0};
    default: return {1, 1};
  }
}

bool is_number(DType dtype) { return is_float(dtype) || is_integer(dtype); }
bool is_comparison(Word word) { return word >= Word::Eq && word <= Word::Ge; }

/// What the dtype of the operands of an elementwise word has to be.
std::string check_domain(Word word, DType dtype) {
  switch (word) {
    case Word::Neg:
    case Word::Abs:
    case Word::Sign:
    case Word::Add:
    case Word::Sub:
    case Word::Mul:
    case Word::Div:
    case Word::Rem:
    case Word::Min:
    case Word::Max:
    case Word::Lt:
    case Word::Le:
    case Word::Gt:
    case Word::Ge: return is_number(dtype) ? kFine : "a float or integer dtype";
    case Word::Not:
    case Word::And:
    case Word::Or:
    case Word::Xor: return is_float(dtype) ? "an integer dtype or bool" : kFine;
    case Word::Popcount:
    case Word::Shl:
    case Word::Shr:
    case Word::MulHi: return is_integer(dtype) ? kFine : "an integer dtype";
    case Word::Eq:
    case Word::Ne:
    case Word::Select:
    case Word::Cast:
    case Word::Bitcast:
    case Word::Narrow: return kFine;
    default: return is_float(dtype) ? kFine : "f32 or f64";
  }
}

class Rule {
 public:
  Rule(const Program& program, const Instruction& instruction) : program_(program), self_(instruction) {}

  std::string check() const {
    const auto [fewest, most] = operand_count(self_.word);
    if (self_.operands.size() < fewest || self_.operands.size() > most) {
      return std::to_string(fewest) + (most > fewest ? " to " + std::to_string(most) : "") + " operands";
    }
    for (const Id operand : self_.operands) {
      if (!has_result(program_[operand].word)) return "operands that are values";
    }
    if (!self_.regions.empty()) return "no regions";
    std::string text = check_word();
    return text.empty() && has_result(self_.word) ? check_result() : text;
  }

 private:
  std::string check_word() const {
    if (is_elementwise(self_.word)) return check_elementwise();
    if (self_.word <= Word::Arange) return check_source();
    if (self_.word <= Word::Transpose) return check_shape_word();
    if (self_.word <= Word::Atomic) return check_memory();
    if (self_.word <= Word::ArgSort) return check_across();
    return check_rest();
  }

  const Type& type(std::size_t i) const { return program_[self_.operands[i]].type; }
  std::string expect(const Type& type) const { return self_.type == type ? kFine : "a result of type " + to_string(type); }

  std::string check_result() const {
    if (!self_.type.pointer && !is_compute_type(self_.type.dtype)) return std::string("a result of ") + kComputeTypes;
    if (self_.type.shape.rank() > kMaxTileRank) return "at most " + std::to_string(kMaxTileRank) + " dimensions";
    for (const std::int64_t size : self_.type.shape) {
      if (size < 1) return "sizes of at least 1";
    }
    return kFine;
  }

  std::string check_source() const {
    switch (self_.word) {
      case Word::Parameter: {
        if (self_.attribute < 0 || self_.attribute >= static_cast<std::int64_t>(program_.parameters.size())) {
          return "one of the program's " + std::to_string(program_.parameters.size()) + " parameters";
        }
        const Parameter& parameter = program_.parameters[static_cast<std::size_t>(self_.attribute)];
        return expect({parameter.dtype, parameter.pointer, {}});
      }
      case Word::Constant: return !self_.type.pointer && self_.type.shape.empty() ? kFine : "a scalar that is no pointer";
      case Word::Arange: return self_.type.shape.rank() == 1 ? expect({i64, false, self_.type.shape}) : "a result of rank 1";
      default:
        if (self_.attribute < 0 || self_.attribute > 2) return "a grid axis from 0 to 2";
        return expect({i64, false, {}});
    }
  }

  std::string check_shape_word() const {
    Type expected = type(0);
    const Shape& from = type(0).shape;
    const Shape& to = self_.type.shape;
    switch (self_.word) {
      case Word::Broadcast:
        if (!from.empty() && (from.rank() != to.rank() || broadcast(from, to) != to)) {
          return "a scalar, or axes of size 1 where " + to_string(to) + " differs";
        }
        expected.shape = to;
        break;
      case Word::ExpandDims:
        if (self_.attribute < 0 || self_.attribute > from.rank()) return "an axis from 0 to " + std::to_string(from.rank());
        expected.shape.insert(static_cast<int>(self_.attribute), 1);
        break;
      case Word::Reshape:
        if (numel(from) != numel(to)) return "a shape of " + std::to_string(numel(from)) + " elements";
        expected.shape = to;
        break;
      default:
        if (from.rank() != 2) return "a tile of rank 2";
        expected.shape = {from[1], from[0]};
    }
    return expect(expected);
  }

  /// Pointer arithmetic: (pointer, i64) -> pointer.
  std::string check_pointer_arithmetic(const Shape& shape) const {
    if (self_.word != Word::Add && self_.word != Word::Sub) return "operands that are not pointers";
    if (!type(0).pointer || type(1).pointer || type(1).dtype != i64) return "a pointer and an i64 offset";
    return expect({type(0).dtype, true, shape});
  }

  std::string check_elementwise() const {
    Shape shape;
    bool pointers = false;
    for (std::size_t i = 0; i < self_.operands.size(); ++i) {
      pointers = pointers || type(i).pointer;
      if (type(i).shape.empty()) continue;
      if (!shape.empty() && shape != type(i).shape) return "tiles of equal shape, or scalars beside them";
      shape = type(i).shape;
    }
    if (self_.word == Word::Hint) {
      if (self_.attribute < 0 || self_.attribute > static_cast<std::int64_t>(HintKind::Constant) || self_.attribute2 < 1)
        return "a hint with a number from 1 on";
      return expect(type(0));
    }
    if (pointers) return check_pointer_arithmetic(shape);

    std::size_t first = 0;
    if (self_.word == Word::Select) {
      if (type(0).dtype != boolean) return "a bool condition";
      first = 1;
    }
    const DType dtype = type(first).dtype;
    for (std::size_t i = first + 1; i < self_.operands.size(); ++i) {
      if (type(i).dtype != dtype) return "operands of equal dtype";
    }
    if (std::string text = check_domain(self_.word, dtype); !text.empty()) return text;

    DType result = dtype;
    if (is_comparison(self_.word) || self_.word == Word::IsNan || self_.word == Word::IsInf) result = boolean;
    if (self_.word == Word::Cast) result = self_.type.dtype;
    if (self_.word == Word::Narrow) {
      const auto stored = static_cast<DType>(self_.attribute);
      if (!is_dtype(self_.attribute) || is_compute_type(stored)) { return "a stored type of f16, bf16, e4m3, e5m2, i16, i8, u16 or u8"; }
      if (dtype != compute_type(stored)) return std::string(name(compute_type(stored))) + " to narrow to " + std::string(name(stored));
    }
    if (self_.word == Word::Bitcast) {
      result = self_.type.dtype;
      if (size_of(result) != size_of(dtype)) return "dtypes of one width";
    }
    return expect({result, false, shape});
  }

  std::string check_memory() const {
    if (!type(0).pointer) return "a pointer as the first operand";
    const Shape& shape = type(0).shape;
    const auto fits = [&](std::size_t i) { return type(i).shape.empty() || type(i).shape == shape; };
    const Type element{compute_type(type(0).dtype), false, shape};
    const bool load = self_.word == Word::Load;
    if (self_.word != Word::Atomic && (self_.attribute < 0 || self_.attribute >= AccessHints::kPacked || (self_.attribute >> 3 & 3) == 3))
      return "an attribute that says how memory is accessed";
    if (self_.word == Word::Atomic) {
      if (std::string text = check_atomic(element); !text.empty()) return text;
    }
    const std::size_t mask = mask_place(self_), value = load ? 2 : 1;
    if (self_.operands.size() > mask && (type(mask).pointer || type(mask).dtype != boolean)) return "a bool mask";
    if (self_.operands.size() > value && (type(value).pointer || type(value).dtype != element.dtype)) {
      return (load ? "the other value as " : "a value of ") + std::string(name(element.dtype)) + " for a pointer to " +
             std::string(name(type(0).dtype));
    }
    for (std::size_t i = 1; i < self_.operands.size(); ++i) {
      if (!fits(i)) return "mask and value of the pointer's shape " + to_string(shape) + ", or scalars";
    }
    return self_.word == Word::Store ? kFine : expect(element);
  }

  std::string check_atomic(const Type& element) const {
    if (self_.attribute < 0 || self_.attribute >= Atomic::kPacked || (self_.attribute & 8) != 0 || self_.attribute >> 6 == 3)
      return "an attribute that says what is done";
    const Atomic atomic = Atomic::of(self_);
    const bool swaps = atomic.kind == AtomicKind::CompareAndSwap;
    if (element.dtype == boolean) return "a pointer to numbers";
    if (is_float(element.dtype) && (swaps || (atomic.kind >= AtomicKind::And && !atomic.replaces()))) return "a pointer to integers";
    if (self_.operands.size() > (swaps ? 4u : 3u) || (swaps && self_.operands.size() < 3))
      return swaps ? "3 to 4 operands" : "2 to 3 operands";
    if (swaps && (type(2).pointer || type(2).dtype != element.dtype))
      return "a number of " + std::string(name(element.dtype)) + " to compare with";
    return kFine;
  }

  std::string check_across() const {
    const Type& from = type(0);
    if (from.pointer) return "an operand that is no pointer";
    if (self_.attribute < 0 || self_.attribute >= from.shape.rank()) {
      return from.shape.empty() ? "a tile, not a scalar" : "an axis from 0 to " + std::to_string(from.shape.rank() - 1);
    }
    const bool sorts = self_.word == Word::Sort || self_.word == Word::ArgSort;
    const bool logical = !sorts && (self_.kind == Reduction::Any || self_.kind == Reduction::All);
    if (self_.word == Word::ArgReduce && self_.kind != Reduction::Min && self_.kind != Reduction::Max) return "the kind min or max";
    if (logical != (from.dtype == boolean)) return logical ? "a bool tile" : "a tile of floats or integers";
    if (sorts && (self_.attribute2 < 0 || SortOrder::of(self_).ordered > from.shape[static_cast<int>(self_.attribute)]))
      return "attribute2 of 0 (ascending) or 1 (descending), and twice how many are in order";
    Type expected = from;
    if (self_.word == Word::ArgReduce || self_.word == Word::ArgSort) expected.dtype = i64;
    if (self_.word == Word::Reduce || self_.word == Word::ArgReduce) expected.shape[static_cast<int>(self_.attribute)] = 1;
    return expect(expected);
  }

  std::string check_rest() const {
    for (std::size_t i = 0; i < self_.operands.size() && self_.word != Word::Print; ++i) {
      if (type(i).pointer) return "operands that are not pointers";
    }
    switch (self_.word) {
      case Word::Gather: return check_gather();
      case Word::Histogram:
        if (type(0).dtype != i64 || type(0).shape.rank() != 1) return "i64 numbers of rank 1";
        if (self_.operands.size() > 1 && type(1) != Type{boolean, false, type(0).shape}) return "a bool mask of the numbers' shape";
        if (self_.type.shape.rank() != 1) return "a result of rank 1";
        return expect({i32, false, self_.type.shape});
      case Word::InlineAsm: {
        if (!has_text()) return "a text of the program";
        Shape shape;
        for (std::size_t i = 0; i < self_.operands.size(); ++i) {
          if (type(i).shape.empty()) continue;
          if (!shape.empty() && type(i).shape != shape) return "tiles of equal shape, or scalars beside them";
          shape = type(i).shape;
        }
        return expect({self_.type.dtype, false, shape});
      }
      case Word::Print: return has_text() ? kFine : "a text of the program";
      case Word::Assume: return type(0) == Type{boolean, false, {}} ? kFine : "a bool scalar";
      case Word::Barrier: return kFine;
      case Word::Dot: {
        const Shape &a = type(0).shape, &b = type(1).shape;
        const DType dtype = type(0).dtype;
        if (dtype == boolean || dtype == i64 || dtype == u64 || type(1).dtype != dtype || type(2).dtype != dtype) {
          return "operands of equal dtype, f32, f64, i32 or u32";
        }
        const int rank = a.rank();
        const bool fits = (rank == 2 || rank == 3) && b.rank() == rank && a[rank - 1] == b[rank - 2] && (rank == 2 || a[0] == b[0]);
        Shape product = a;
        if (fits) product[rank - 1] = b[rank - 1];
        if (!fits || type(2).shape != product) return "shapes (M, K), (K, N) and an accumulator (M, N), or of each as many";
        return expect(type(2));
      }
      case Word::RandomBits:
        if (type(0) != Type{i64, false, {}} || type(1).dtype != i64) return "an i64 scalar as seed and i64 indices";
        return expect({i32, false, type(1).shape});
      case Word::Assert:
        if (type(0).dtype != boolean || type(1).dtype != i64) return "a bool condition and an i64 value";
        if (!type(1).shape.empty() && type(1).shape != type(0).shape) return "a value of the condition's shape, or a scalar";
        return kFine;
      default: return kFine;
    }
  }

  bool has_text() const { return self_.attribute >= 0 && self_.attribute < static_cast<std::int64_t>(program_.texts.size()); }

  std::string check_gather() const {
    const Shape &from = type(0).shape, &to = type(1).shape;
    if (from.empty() || type(1).dtype != i64) return "a tile and i64 places";
    if (self_.attribute < 0 || self_.attribute >= from.rank()) return "an axis from 0 to " + std::to_string(from.rank() - 1);
    Shape like = to;
    if (to.rank() == from.rank()) like[static_cast<int>(self_.attribute)] = from[static_cast<int>(self_.attribute)];
    if (like != from) return "places of the tile's sizes along other axes";
    return expect({type(0).dtype, false, to});
  }

  const Program& program_;
  const Instruction& self_;
};

}  // namespace

std::string complaint(const Program& program, const Instruction& instruction) {
  if (instruction.word >= Word::For) return kFine;
  return Rule(program, instruction).check();
}

}  // namespace tegula::tile
