#include "tegula/simt/analysis.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

int twos_of(std::int64_t value) {
  if (value == 0) return kManyTwos;
  return std::min(kManyTwos, std::countr_zero(static_cast<std::uint64_t>(value)));
}

/// Bits of what comes of two numbers, which may be nothing.
int either(const Term& a, const Term& b, int bits) {
  return std::max(a.magnitude_bits(), b.magnitude_bits()) < kAnyBits ? std::min(bits, kAnyBits) : kAnyBits;
}

Form affine_form(int rank) {
  Form form;
  form.kind = Form::Kind::Affine;
  form.stride.assign(static_cast<std::size_t>(rank), Term{});
  return form;
}

}  // namespace

Term Term::number(std::int64_t value) { return {true, value, "", twos_of(value)}; }
int Term::magnitude_bits() const {
  if (!known) return bits;
  return value == std::numeric_limits<std::int64_t>::min() ? kAnyBits : std::bit_width(static_cast<std::uint64_t>(std::abs(value)));
}
std::string Term::code() const { return known ? literal(value, DType::i64) : text; }

Term add(const Term& a, const Term& b) {
  if (a.known && b.known)
    return Term::number(static_cast<std::int64_t>(static_cast<std::uint64_t>(a.value) + static_cast<std::uint64_t>(b.value)));
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return {false, 0, "(" + a.code() + " + " + b.code() + ")", std::min(a.twos, b.twos),
          either(a, b, std::max(a.magnitude_bits(), b.magnitude_bits()) + 1)};
}

Term multiply(const Term& a, const Term& b) {
  if (a.known && b.known)
    return Term::number(static_cast<std::int64_t>(static_cast<std::uint64_t>(a.value) * static_cast<std::uint64_t>(b.value)));
  if (a.is(0) || b.is(0)) return Term::number(0);
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const std::string text = a.is(-1) ? "-" + b.code() : b.is(-1) ? "-" + a.code() : a.code() + " * " + b.code();
  return {false, 0, "(" + text + ")", std::min(kManyTwos, a.twos + b.twos), either(a, b, a.magnitude_bits() + b.magnitude_bits())};
}

Term subtract_for_limit(const Term& a, const Term& b) {
  constexpr int kSafeBits = 62;
  if (a.magnitude_bits() <= kSafeBits && b.magnitude_bits() <= kSafeBits) return add(a, multiply(Term::number(-1), b));
  if (!a.known || !b.known) return {false, 0, "difference(" + a.code() + ", " + b.code() + ")", std::min(a.twos, b.twos), kSafeBits + 1};
  constexpr std::int64_t kMost = std::int64_t{1} << kSafeBits;
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a.value, b.value, &difference)) return Term::number(a.value < 0 ? -kMost : kMost);
  return Term::number(std::clamp(difference, -kMost, kMost));
}

std::string literal(double value, DType dtype) {
  const std::string type = dtype == DType::f32 ? "float" : "double";
  if (dtype == DType::f32) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return "not_a_number<" + type + ">()";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string("infinite<") + type + ">()";
  char text[48];
  std::snprintf(text, sizeof text, dtype == DType::f32 ? "%.9g" : "%.17g", value);
  std::string number = text;
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  if (dtype == DType::f32) number += "f";
  return value < 0 || std::signbit(value) ? "(" + number + ")" : number;
}

std::string literal(std::int64_t value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  const std::string suffix = dtype == DType::i64 ? "ll" : "";
  const bool least =
      dtype == DType::i64 ? value == std::numeric_limits<std::int64_t>::min() : value == std::numeric_limits<std::int32_t>::min();
  if (least) return "(" + std::to_string(value + 1) + suffix + " - 1)";
  const std::string number = std::to_string(value) + suffix;
  return value < 0 ? "(" + number + ")" : number;
}

Analysis::Analysis(const tile::Program& program, const Specialisation& specialisation)
    : program_(program),
      specialisation_(specialisation),
      forms_(program.instructions.size()),
      twos_(program.instructions.size(), 0),
      bits_(program.instructions.size(), kAnyBits),
      users_(program.instructions.size()) {
  name_parameters();
  choose_tile();
  visit(program.body);
}

void Analysis::choose_tile() {
  std::int64_t largest = 0;
  bool flat = true;
  for (const Instruction& self : program_.instructions) {
    const Shape& shape = self.type.shape;
    if (!tile::has_result(self.word) || shape.empty() || self.word == Word::For || self.word == Word::If) continue;
    const bool line = shape.rank() != 2;
    if (numel(shape) < largest || (numel(shape) == largest && (line || !flat))) continue;
    largest = numel(shape);
    flat = line;
    rows_ = line ? 1 : shape[0];
    columns_ = line ? numel(shape) : shape[1];
  }
}

bool Analysis::is_flat(const Shape& shape) const {
  if (numel(shape) == 1) return false;
  if (shape.rank() == 1) return shape[0] != rows_ && shape[0] != columns_;
  if (shape.rank() != 2) return true;
  return (shape[0] != 1 && shape[0] != rows_) || (shape[1] != 1 && shape[1] != columns_);
}

/// Names of the program where they are plain, made safe where they could be a word of C++ or a name of ours.
void Analysis::name_parameters() {
  std::set<std::string> taken;
  for (const tile::Parameter& parameter : program_.parameters) {
    std::string name;
    for (const char c : parameter.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    static const std::set<std::string> kLetters{"in", "out", "part", "c", "n", "s", "o", "x", "y", "chunks", "tiles", "scratch", "v"};
    const std::string letters = name.substr(0, name.find_first_of("0123456789_"));
    if (!kLetters.contains(letters) || letters == name || letters == "v") name = "p_" + name;
    while (!taken.insert(name).second) name += "_";
    parameter_names_.push_back(name);
  }
}

void Analysis::visit(const tile::Region& region) {
  for (const Id id : region.body) {
    const Instruction& self = program_[id];
    for (const Id operand : self.operands) users_[index(resolve(operand))].push_back(id);
    if (self.word == Word::Result && program_[self.operands[0]].word == Word::If)
      branch_result_.try_emplace({self.operands[0], self.attribute}, id);
    examine(id);
    if (self.word == Word::For && bits(self.operands[0]) < kAnyBits)  // counts up from there
      bits_[index(self.regions[0].parameters[0])] = bits(self.operands[1]);
    for (const tile::Region& inner : self.regions) visit(inner);
  }
  for (const Id id : region.results) users_[index(resolve(id))].push_back(-1);
}

Id Analysis::resolve(Id id) const {
  const Instruction& self = program_[id];
  if (self.word != Word::Result) return id;
  const Instruction& control = program_[self.operands[0]];
  if (control.word == Word::For) return control.regions[0].parameters[static_cast<std::size_t>(self.attribute) + 1];
  const auto found = branch_result_.find({self.operands[0], self.attribute});
  return found == branch_result_.end() ? id : found->second;
}

Id Analysis::root_of(Id pointer) const {
  for (;;) {
    pointer = resolve(pointer);
    const Instruction& self = program_[pointer];
    if (self.word == Word::Parameter) return static_cast<Id>(self.attribute);
    if (self.operands.empty() ||
        (self.word != Word::Add && self.word != Word::Sub && (self.word < Word::Broadcast || self.word > Word::Transpose)))
      return -1;
    pointer = type(self.operands[0]).pointer ? self.operands[0] : self.operands[1];
  }
}

std::string Analysis::name(Id id) const {
  id = resolve(id);
  const Instruction& self = program_[id];
  if (self.word == Word::Parameter) return parameter_names_[static_cast<std::size_t>(self.attribute)];
  if (self.word == Word::Constant)
    return is_float(self.type.dtype) ? literal(self.real, self.type.dtype) : literal(self.integer, self.type.dtype);
  return "v" + std::to_string(id);
}

void Analysis::examine(Id id) {
  const Instruction& self = program_[id];
  if (self.type.shape.rank() > 0) forms_[index(id)] = derive(self);
  twos_[index(id)] = derive_twos(self);
  bits_[index(id)] = derive_bits(self);
}

Form Analysis::affine(Id id) const {
  const tile::Type& type = program_[id].type;
  if (form(id).kind == Form::Kind::Affine) return form(id);
  Form result = affine_form(type.shape.rank());
  if (type.shape.rank() > 0) {
    while (!is_flat(type.shape) && program_[id].word == Word::Broadcast &&
           type.shape.rank() == program_[program_[id].operands[0]].type.shape.rank())
      id = program_[id].operands[0];
    result.rest = id;
  } else if (type.pointer) {
    result.root = id;
  } else {
    const Instruction& self = program_[id];
    if (self.word == Word::Constant) result.base = Term::number(self.integer);
    else result.base = {false, 0, name(id), twos(id), bits(id)};
  }
  return result;
}

Form Analysis::box(Id id) const {
  if (form(id).kind == Form::Kind::Box) return form(id);
  Form result;
  result.kind = Form::Kind::Box;
  const int rank = program_[id].type.shape.rank();
  while (program_[id].word == Word::Broadcast &&
         ((!is_flat(program_[id].type.shape) && program_[program_[id].operands[0]].type.shape.rank() == rank) ||
          program_[program_[id].operands[0]].type.shape.empty())) {
    id = program_[id].operands[0];
  }
  if (form(id).kind == Form::Kind::Box) return form(id);
  if (program_[id].type.shape.empty()) result.conditions.push_back({Condition::Kind::Uniform, 0, {false, 0, name(id), 0}, -1});
  else result.conditions.push_back({Condition::Kind::Tile, 0, {}, id});
  return result;
}

Form Analysis::derive(const Instruction& self) const {
  const bool index_like = self.type.pointer || self.type.dtype == DType::i64;
  switch (self.word) {
    case Word::Broadcast:
    case Word::ExpandDims: return derive_shape(self);
    case Word::Arange: {
      Form form = affine_form(1);
      form.base = Term::number(self.attribute);
      form.stride[0] = Term::number(self.type.shape[0] == 1 ? 0 : 1);
      return form;
    }
    case Word::Constant: {
      if (!index_like) return {};
      Form form = affine_form(self.type.shape.rank());
      form.base = Term::number(self.integer);
      return form;
    }
    case Word::Add:
    case Word::Sub: return index_like ? derive_sum(self) : Form{};
    case Word::Mul:
    case Word::Neg:
    case Word::Shl: return index_like ? derive_product(self) : Form{};
    case Word::Lt:
    case Word::Le:
    case Word::Gt:
    case Word::Ge: return derive_comparison(self);
    case Word::And: {
      if (self.type.dtype != DType::boolean) return {};
      if (form(self.operands[0]).kind != Form::Kind::Box && form(self.operands[1]).kind != Form::Kind::Box) return {};
      Form form = box(self.operands[0]);
      for (const Condition& condition : box(self.operands[1]).conditions) form.conditions.push_back(condition);
      return form;
    }
    default: return {};
  }
}

Form Analysis::derive_shape(const Instruction& self) const {
  const Id from = self.operands[0];
  const Shape& old = type(from).shape;
  const Shape& shape = self.type.shape;
  const bool index_like = self.type.pointer || self.type.dtype == DType::i64;
  const bool expand = self.word == Word::ExpandDims;
  const auto moved = [&](int axis) { return axis + (expand && axis >= self.attribute); };
  if (index_like && (old.empty() || form(from).kind == Form::Kind::Affine)) {
    Form form = affine(from);
    if (form.rest >= 0 && (expand || is_flat(shape))) return {};
    Form result = affine_form(shape.rank());
    result.root = form.root, result.base = form.base, result.rest = form.rest;
    for (int axis = 0; axis < old.rank(); ++axis) {
      if (old[axis] != 1) result.stride[static_cast<std::size_t>(moved(axis))] = form.stride[static_cast<std::size_t>(axis)];
    }
    return result;
  }
  if (self.type.dtype != DType::boolean || form(from).kind != Form::Kind::Box) return {};
  Form result;
  result.kind = Form::Kind::Box;
  for (Condition condition : form(from).conditions) {
    if (condition.kind == Condition::Kind::Tile && (expand || is_flat(shape))) return {};
    if (condition.kind == Condition::Kind::Below || condition.kind == Condition::Kind::AtLeast) {
      if (old[condition.axis] == 1) {  // coordinate 0 decides for all
        const std::string sign = condition.kind == Condition::Kind::Below ? "0 < " : "0 >= ";
        condition = {Condition::Kind::Uniform, 0, {false, 0, sign + condition.limit.code(), 0}, -1};
      } else {
        condition.axis = moved(condition.axis);
      }
    }
    result.conditions.push_back(condition);
  }
  return result;
}

Form Analysis::derive_sum(const Instruction& self) const {
  Form a = affine(self.operands[0]), b = affine(self.operands[1]);
  const bool minus = self.word == Word::Sub;
  if (form(self.operands[0]).kind != Form::Kind::Affine && form(self.operands[1]).kind != Form::Kind::Affine && a.rest >= 0 && b.rest >= 0)
    return {};
  if ((a.rest >= 0 && b.rest >= 0) || (minus && b.rest >= 0) || (a.root >= 0 && b.root >= 0)) return {};
  if (a.rest >= 0 && a.base.is(0) && b.rest < 0 && !self.type.pointer && a.root < 0) {
    // Computed elements plus a scalar are computed elements, unless there is a coordinate to keep apart.
    bool varies = false;
    for (const Term& stride : b.stride) varies = varies || !stride.is(0);
    for (const Term& stride : a.stride) varies = varies || !stride.is(0);
    if (!varies) return {};
  }
  Form result = affine_form(self.type.shape.rank());
  result.root = std::max(a.root, b.root);
  result.rest = std::max(a.rest, b.rest);
  const Term sign = Term::number(minus ? -1 : 1);
  result.base = add(a.base, multiply(sign, b.base));
  for (std::size_t i = 0; i < result.stride.size(); ++i) {
    if (i < a.stride.size()) result.stride[i] = a.stride[i];
    if (i < b.stride.size()) result.stride[i] = add(result.stride[i], multiply(sign, b.stride[i]));
  }
  return result;
}

Form Analysis::derive_product(const Instruction& self) const {
  if (self.type.pointer) return {};
  Form a = affine(self.operands[0]);
  Term factor = Term::number(-1);
  if (self.word == Word::Mul || self.word == Word::Shl) {
    Form b = affine(self.operands[1]);
    const auto uniform = [](const Form& form) {
      return form.rest < 0 && std::all_of(form.stride.begin(), form.stride.end(), [](const Term& stride) { return stride.is(0); });
    };
    if (self.word == Word::Mul && !uniform(b)) std::swap(a, b);
    if (!uniform(b)) return {};
    factor = b.base;
    if (self.word == Word::Shl) {
      if (!factor.known || factor.value < 0 || factor.value > 62) return {};
      factor = Term::number(std::int64_t{1} << factor.value);
    }
  }
  if (a.rest >= 0) return {};
  Form result = affine_form(self.type.shape.rank());
  result.base = multiply(a.base, factor);
  for (std::size_t i = 0; i < a.stride.size(); ++i) result.stride[i] = multiply(a.stride[i], factor);
  return result;
}

/// Comparisons that say on which side of a limit one coordinate lies.
Form Analysis::derive_comparison(const Instruction& self) const {
  if (type(self.operands[0]).dtype != DType::i64 || type(self.operands[0]).pointer) return {};
  const Form a = affine(self.operands[0]), b = affine(self.operands[1]);
  if (a.rest >= 0 || b.rest >= 0) return {};
  const Term minus = Term::number(-1);
  int axis = -1;
  std::int64_t step = 0;
  for (int i = 0; i < self.type.shape.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Term difference = add(k < a.stride.size() ? a.stride[k] : Term{}, multiply(minus, k < b.stride.size() ? b.stride[k] : Term{}));
    if (difference.is(0)) continue;
    if (axis >= 0 || !(difference.is(1) || difference.is(-1))) return {};
    axis = i;
    step = difference.value;
  }
  if (axis < 0) return {};
  // base + step * x <word> 0
  const Term base = subtract_for_limit(a.base, b.base), opposite = subtract_for_limit(b.base, a.base), one = Term::number(1);
  const bool up = step > 0;
  Condition condition;
  condition.axis = axis;
  using Kind = Condition::Kind;
  switch (self.word) {
    case Word::Lt: condition.kind = up ? Kind::Below : Kind::AtLeast, condition.limit = up ? opposite : add(base, one); break;
    case Word::Le: condition.kind = up ? Kind::Below : Kind::AtLeast, condition.limit = up ? add(opposite, one) : base; break;
    case Word::Gt: condition.kind = up ? Kind::AtLeast : Kind::Below, condition.limit = up ? add(opposite, one) : base; break;
    default: condition.kind = up ? Kind::AtLeast : Kind::Below, condition.limit = up ? opposite : add(base, one); break;
  }
  Form form;
  form.kind = Form::Kind::Box;
  form.conditions.push_back(condition);
  return form;
}

int Analysis::fact_of(const Instruction& parameter) const {
  const auto i = static_cast<std::size_t>(parameter.attribute);
  return i < specialisation_.facts.size() ? specialisation_.facts[i] : 0;
}

int Analysis::derive_bits(const Instruction& self) const {
  constexpr int kShortBits = 31;  // of an argument, and of what counts program instances
  if (self.type.pointer || !is_integer(self.type.dtype)) return self.type.dtype == DType::boolean ? 1 : kAnyBits;
  const auto operand = [&](std::size_t i) { return bits(self.operands[i]); };
  const auto of_number = [](std::int64_t value) {
    return value < 0 ? kAnyBits : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  };
  const auto both = [&](int value) { return std::max(operand(0), operand(1)) < kAnyBits ? value : kAnyBits; };
  const auto derive = [&] {
    switch (self.word) {
      case Word::Parameter: return (fact_of(self) & kShort) != 0 ? kShortBits : kAnyBits;
      case Word::Constant: return of_number(self.integer);
      case Word::ProgramId:
      case Word::NumPrograms: return kShortBits;
      case Word::Arange: return self.attribute < 0 ? kAnyBits : of_number(self.attribute + numel(self.type.shape) - 1);
      case Word::Add: return both(std::max(operand(0), operand(1)) + 1);
      case Word::Mul: return both(operand(0) + operand(1));
      case Word::Min:
      case Word::Rem: return both(std::min(operand(0), operand(1)));
      case Word::Max: return both(std::max(operand(0), operand(1)));
      case Word::Div: return both(operand(0));
      case Word::Select: return std::max(operand(1), operand(2));
      case Word::Cast:
      case Word::Broadcast:
      case Word::ExpandDims:
      case Word::Reshape:
      case Word::Transpose: return operand(0);
      default: return kAnyBits;
    }
  };
  const int result = derive();
  return result < static_cast<int>(8 * size_of(self.type.dtype)) ? result : kAnyBits;
}

int Analysis::derive_twos(const Instruction& self) const {
  const auto operand = [&](std::size_t i) { return twos(self.operands[i]); };
  if (!self.type.pointer && !is_integer(self.type.dtype)) return 0;
  switch (self.word) {
    case Word::Parameter:
      if (self.type.pointer) return std::max(0, fact_of(self) - std::countr_zero(size_of(self.type.dtype)));
      return fact_of(self) & ~kShort;
    case Word::Constant: return twos_of(self.integer);
    case Word::Add:
    case Word::Sub:
    case Word::Min:
    case Word::Max: return std::min(operand(0), operand(1));
    case Word::Mul: return std::min(kManyTwos, operand(0) + operand(1));
    case Word::Shl: {
      const Instruction& amount = program_[self.operands[1]];
      return amount.word == Word::Constant && amount.integer >= 0
                 ? std::min<int>(kManyTwos, operand(0) + static_cast<int>(std::min<std::int64_t>(amount.integer, kManyTwos)))
                 : operand(0);
    }
    case Word::Select: return std::min(operand(1), operand(2));
    case Word::Neg:
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose: return operand(0);
    case Word::Cast: return is_integer(type(self.operands[0]).dtype) ? operand(0) : 0;
    default: return 0;
  }
}

bool Analysis::varies_along_last_axis(Id tile) const {
  const Shape& shape = type(tile).shape;
  return !shape.empty() && shape.back() != 1;
}

int Analysis::counts_up(Id id, bool base_counts) const {
  const Form form = affine(id);
  const Shape& shape = type(id).shape;
  if (shape.empty() || !form.stride.back().is(1)) return 0;
  if (form.rest >= 0 && varies_along_last_axis(form.rest)) return 0;
  int known = base_counts ? form.base.twos : kManyTwos;
  if (form.root >= 0) known = std::min(known, twos(form.root));
  if (form.rest >= 0) known = std::min(known, twos(form.rest));
  for (std::size_t i = 0; i + 1 < form.stride.size(); ++i) known = std::min(known, form.stride[i].twos);
  return 1 << std::min(known, 4);
}

int Analysis::contiguous(Id pointer) const { return std::min(16 / static_cast<int>(size_of(type(pointer).dtype)), counts_up(pointer)); }

}  // namespace tegula::gpu
