#include "tegula/tile/builder.h"

#include <bit>
#include <cmath>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/tile/passes/closed_form.h"
#include "tegula/tile/passes/dead_code.h"
#include "tegula/tile/rules.h"

namespace tegula::tile {
namespace {

std::string types(const Program& program, const std::vector<Id>& operands) {
  std::string text;
  for (const Id id : operands) text += (text.empty() ? "" : ", ") + to_string(program[id].type);
  return text.empty() ? "no operands" : text;
}

bool can_share(Word word) { return word < Word::Load || (word >= Word::Reduce && word <= Word::InlineAsm); }

std::uint64_t hash(const Instruction& instruction) {
  std::uint64_t h = static_cast<std::uint64_t>(instruction.word);
  const auto mix = [&](std::uint64_t word) { h = (h ^ word) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  mix(static_cast<std::uint64_t>(instruction.type.dtype) << 1 | static_cast<std::uint64_t>(instruction.type.pointer));
  for (const std::int64_t size : instruction.type.shape) mix(static_cast<std::uint64_t>(size));
  for (const Id id : instruction.operands) mix(static_cast<std::uint64_t>(id));
  mix(static_cast<std::uint64_t>(instruction.attribute));
  mix(static_cast<std::uint64_t>(instruction.attribute2) << 8 | static_cast<std::uint64_t>(instruction.kind));
  mix(std::bit_cast<std::uint64_t>(instruction.real));
  mix(static_cast<std::uint64_t>(instruction.integer));
  return h;
}

bool same(const Instruction& a, const Instruction& b) {
  return a.word == b.word && a.type == b.type && a.operands == b.operands && a.attribute == b.attribute && a.attribute2 == b.attribute2 &&
         a.kind == b.kind && a.integer == b.integer && std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

Instruction make(Word word, Type type, std::vector<Id> operands = {}) {
  Instruction instruction;
  instruction.word = word;
  instruction.type = type;
  instruction.operands = std::move(operands);
  return instruction;
}

[[noreturn]] void fail(const Builder& builder, std::string op, std::string got, std::string expected, std::string advice = {}) {
  throw Error({.op = "tile." + std::move(op),
               .got = std::move(got),
               .expected = std::move(expected),
               .advice = std::move(advice),
               .where = builder.location()});
}

}  // namespace

Type Value::type() const {
  if (builder_ == nullptr) throw Error({.op = "tile", .got = "an empty Value", .expected = "a Value made by a Builder"});
  return builder_->program_[id_].type;
}

/// A region that instructions go to while the object lives. Regions end up inside instructions, which move as their vector grows:
/// an open one is therefore a local of the function that traces it.
struct Builder::Scope {
  explicit Scope(Builder& builder) : builder(builder) {
    builder.open_.push_back(&region);
    builder.known_.emplace_back();
  }
  ~Scope() {
    builder.open_.pop_back();
    builder.known_.pop_back();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Builder& builder;
  Region region;
};

Id Builder::append(Instruction instruction) {
  const Id id = static_cast<Id>(program_.instructions.size());
  const bool listed = instruction.word != Word::RegionParameter;
  instruction.where = where_;
  program_.instructions.push_back(std::move(instruction));
  if (listed) region().body.push_back(id);
  return id;
}

Id Builder::intern(Instruction instruction) {
  if (std::string expected = complaint(program_, instruction); !expected.empty()) {
    fail(*this, std::string(name(instruction.word)), types(program_, instruction.operands), std::move(expected));
  }
  if (!can_share(instruction.word)) return append(std::move(instruction));
  if (const Id id = simplify(instruction); id >= 0) return id;

  const std::uint64_t key = hash(instruction);
  for (auto scope = known_.rbegin(); scope != known_.rend(); ++scope) {
    const auto [begin, end] = scope->equal_range(key);
    for (auto it = begin; it != end; ++it) {
      if (same(program_[it->second], instruction)) return it->second;
    }
  }
  const Id id = append(std::move(instruction));
  known_.back().emplace(key, id);
  return id;
}

Value Builder::emit(Word word, Type type, std::vector<Id> operands, std::int64_t attribute, Reduction kind, std::int64_t attribute2) {
  for (const Id id : operands) {
    if (id < 0 || id >= static_cast<Id>(program_.instructions.size()))
      fail(*this, std::string(name(word)), "an unknown operand", "values of this builder");
  }
  Instruction instruction = make(word, type, std::move(operands));
  instruction.attribute = attribute;
  instruction.attribute2 = attribute2;
  instruction.kind = kind;
  return {this, intern(std::move(instruction))};
}

// From outside.

Value Builder::pointer(std::string name, DType dtype, bool writable) {
  program_.parameters.push_back({std::move(name), dtype, true, writable});
  return emit(Word::Parameter, {dtype, true, {}}, {}, static_cast<std::int64_t>(program_.parameters.size()) - 1);
}

Value Builder::scalar(std::string name, DType dtype) {
  if (!is_compute_type(dtype)) {
    fail(*this, "scalar", "dtype " + std::string(tegula::name(dtype)) + " for parameter " + name, kComputeTypes);
  }
  program_.parameters.push_back({std::move(name), dtype, false, false});
  return emit(Word::Parameter, {dtype, false, {}}, {}, static_cast<std::int64_t>(program_.parameters.size()) - 1);
}

Value Builder::constant(double value, DType dtype) {
  Instruction instruction = make(Word::Constant, {dtype, false, {}});
  if (is_float(dtype)) {
    instruction.real = dtype == f32 ? static_cast<double>(static_cast<float>(value)) : value;
    return {this, intern(std::move(instruction))};
  }
  if (dtype == u64 && value >= 0x1p63 && value < 0x1p64)
    return constant(static_cast<std::int64_t>(static_cast<std::uint64_t>(value)), dtype);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(value >= -kLimit && value < kLimit) || std::trunc(value) != value) {
    fail(*this, "constant", number_text(value) + " as " + std::string(name(dtype)), "a whole number",
         "cast the other operand to a float dtype");
  }
  return constant(static_cast<std::int64_t>(value), dtype);
}

Value Builder::constant(std::int64_t value, DType dtype) {
  if (is_float(dtype)) return constant(static_cast<double>(value), dtype);
  const bool fits = size_of(dtype) == 8 || (dtype == boolean && (value == 0 || value == 1)) ||
                    (size_of(dtype) == 4 && value >= -(std::int64_t{1} << 31) && value < (std::int64_t{1} << 32));  // also as unsigned
  if (is_compute_type(dtype) && !fits) {
    fail(*this, "constant", std::to_string(value) + " as " + std::string(name(dtype)), "a number that the dtype can hold");
  }
  Instruction instruction = make(Word::Constant, {dtype, false, {}});
  instruction.integer = dtype == i32 ? static_cast<std::int32_t>(value) : dtype == u32 ? static_cast<std::uint32_t>(value) : value;
  return {this, intern(std::move(instruction))};
}

Value Builder::program_id(int axis) { return emit(Word::ProgramId, {i64, false, {}}, {}, axis); }
Value Builder::num_programs(int axis) { return emit(Word::NumPrograms, {i64, false, {}}, {}, axis); }
Value Builder::arange(std::int64_t begin, std::int64_t count) { return emit(Word::Arange, {i64, false, {count}}, {}, begin); }
Value Builder::full(const Shape& shape, double value, DType dtype) { return broadcast(constant(value, dtype), shape); }

// Memory.

/// The line of one access, while its instructions are made.
class Builder::Located {
 public:
  Located(Builder& builder, const Line& where) : builder_(builder), before_(builder.where_) {
    if (builder.each_access_) builder.where_ = where;
  }
  ~Located() { builder_.where_ = before_; }
  Located(const Located&) = delete;
  Located& operator=(const Located&) = delete;

 private:
  Builder& builder_;
  Line before_;
};

Value Builder::load(const AccessHints& hints, Value pointer, Value mask, Value other, Line where) {
  const Located here(*this, where);
  if (!other.is_empty() && mask.is_empty()) fail(*this, "load", "a value for masked-off elements but no mask", "both or none");
  Shape shape = pointer.shape();
  for (const Value value : {mask, other}) {
    if (value.is_empty() || value.shape().empty()) continue;
    const auto common = tegula::broadcast(shape, value.shape());
    if (!common) fail(*this, "load", "shapes " + to_string(shape) + " and " + to_string(value.shape()), "shapes that broadcast");
    shape = *common;
  }
  std::vector<Id> operands{broadcast(pointer, shape).id()};
  for (const Value value : {mask, other}) {
    if (!value.is_empty()) operands.push_back(value.shape().empty() ? value.id() : broadcast(value, shape).id());
  }
  return emit(Word::Load, {compute_type(pointer.dtype()), false, shape}, std::move(operands), hints.packed());
}

void Builder::store(const AccessHints& hints, Value pointer, Value value, Value mask, Line where) {
  const Located here(*this, where);
  std::vector<Id> operands{pointer.id()};
  for (const Value x : {value, mask}) {
    if (!x.is_empty()) operands.push_back(x.shape().empty() ? x.id() : broadcast(x, pointer.shape()).id());
  }
  emit(Word::Store, {}, std::move(operands), hints.packed());
}

Value Builder::atomic(const Atomic& what, Value pointer, Value value, Value mask, Value compared, Line where) {
  const Located here(*this, where);
  std::vector<Id> operands{pointer.id()};
  for (const Value x : {value, compared, mask}) {
    if (!x.is_empty()) operands.push_back(x.shape().empty() ? x.id() : broadcast(x, pointer.shape()).id());
  }
  return emit(Word::Atomic, {compute_type(pointer.dtype()), false, pointer.shape()}, std::move(operands), what.packed());
}

void Builder::check(Value condition, Value value, std::int64_t id) {
  const auto shape = tegula::broadcast(condition.shape(), value.shape());
  if (!shape) fail(*this, "assert", to_string(condition.type()) + ", " + to_string(value.type()), "shapes that broadcast");
  if (!value.shape().empty()) value = broadcast(value, *shape);
  if (shape->rank() == 2 && (*shape)[0] > 1 && !check_rows_.is_empty()) condition = condition || !check_rows_;
  if (shape->rank() == 2 && (*shape)[1] > 1 && !check_columns_.is_empty()) condition = condition || !check_columns_;
  emit(Word::Assert, {}, {broadcast(condition, *shape).id(), value.id()}, check_scope_ * kCheckIds + id);
}

void Builder::check(Value condition, Value value, std::string sentence, Line where) {
  const Located here(*this, where);
  sentences_.push_back({std::move(sentence), where});
  check(condition, value, kFirstSentence + static_cast<std::int64_t>(sentences_.size()) - 1);
}

void Builder::print(std::string label, Value value, Line where) {
  const Located here(*this, where);
  program_.texts.push_back({.text = std::move(label), .constraints = {}, .fallback = {}});
  emit(Word::Print, {}, {value.id()}, static_cast<std::int64_t>(program_.texts.size()) - 1);
}

Value Builder::inline_asm(Text text, std::vector<Value> operands, DType dtype) {
  Shape shape;
  for (const Value value : operands) {
    const auto common = tegula::broadcast(shape, value.shape());
    if (!common) fail(*this, "inline_asm", "shapes " + to_string(shape) + " and " + to_string(value.shape()), "shapes that broadcast");
    shape = *common;
  }
  std::vector<Id> ids;
  for (const Value value : operands) ids.push_back(value.shape().empty() ? value.id() : broadcast(value, shape).id());
  program_.texts.push_back(std::move(text));
  return emit(Word::InlineAsm, {dtype, false, shape}, std::move(ids), static_cast<std::int64_t>(program_.texts.size()) - 1);
}

// Control.

std::vector<Value> Builder::results_of(Id control, const std::vector<Id>& yielded) {
  std::vector<Value> results;
  for (const Id id : yielded) {
    Instruction result = make(Word::Result, program_[id].type, {control});
    result.attribute = static_cast<std::int64_t>(results.size());
    results.emplace_back(this, append(std::move(result)));
  }
  return results;
}

std::vector<Value> Builder::for_(Value begin, Value end, Value step, std::vector<Value> initial,
                                 const std::function<std::vector<Value>(Value, std::span<const Value>)>& body, std::int64_t hints) {
  Instruction loop = make(Word::For, {});
  loop.attribute = hints;
  for (const Value bound : {begin, end, step}) {
    const Type type = bound.type();
    if (type.pointer || !is_integer(type.dtype) || !type.shape.empty())
      fail(*this, "for", "a bound of type " + to_string(type), "an integer scalar");
    loop.operands.push_back(cast(bound, i64).id());
  }
  for (const Value value : initial) loop.operands.push_back(value.id());
  loop.regions.push_back(loop_body("for", initial, body));
  const std::vector<Id> yielded = loop.regions[0].results;
  return results_of(append(std::move(loop)), yielded);
}

std::vector<Value> Builder::while_(Value condition, std::vector<Value> initial, const std::function<Next(std::span<const Value>)>& body) {
  const auto bool_scalar = [&](Value value) {
    if (value.is_empty() || value.type() != Type{boolean, false, {}})
      fail(*this, "while", "a condition of type " + to_string(value.type()), "a bool scalar", "reduce a tile of conditions by any or all");
  };
  bool_scalar(condition);
  Instruction loop = make(Word::While, {}, {condition.id()});
  for (const Value value : initial) loop.operands.push_back(value.id());
  Id again = -1;
  loop.regions.push_back(loop_body("while", initial, [&](Value, std::span<const Value> carried) {
    Next next = body(carried);
    bool_scalar(next.again);
    again = next.again.id();
    return std::move(next.carried);
  }));
  const std::vector<Id> yielded = loop.regions[0].results;
  loop.regions[0].results.push_back(again);
  return results_of(append(std::move(loop)), yielded);
}

Region Builder::loop_body(const char* word, const std::vector<Value>& initial,
                          const std::function<std::vector<Value>(Value, std::span<const Value>)>& body) {
  Scope scope(*this);
  const auto parameter = [&](Type type) {
    Instruction instruction = make(Word::RegionParameter, type);
    instruction.attribute = static_cast<std::int64_t>(scope.region.parameters.size());
    const Id id = append(std::move(instruction));
    scope.region.parameters.push_back(id);
    return Value(this, id);
  };
  const Value index = parameter({i64, false, {}});
  std::vector<Value> carried;
  for (const Value value : initial) carried.push_back(parameter(value.type()));

  const std::vector<Value> next = body(index, carried);
  if (next.size() != initial.size()) {
    fail(*this, word, std::to_string(next.size()) + " values from the body",
         std::to_string(initial.size()) + ", one for each carried value");
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Type type = initial[i].type();
    Value value = next[i];
    if (value.shape().empty() && !type.shape.empty()) value = broadcast(value, type.shape);
    if (value.type() != type) {
      fail(*this, word,
           "carried value " + std::to_string(i) + " that begins as " + to_string(type) + " and comes back as " + to_string(value.type()),
           "one type", "begin with a tile of the shape and dtype that the body returns");
    }
    scope.region.results.push_back(value.id());
  }
  return std::move(scope.region);
}

std::vector<Value> Builder::if_(Value condition, const std::function<std::vector<Value>()>& then,
                                const std::function<std::vector<Value>()>& otherwise) {
  if (condition.type() != Type{boolean, false, {}}) {
    fail(*this, "if", "a condition of type " + to_string(condition.type()), "a bool scalar", "use select for a choice per element");
  }
  Instruction branch = make(Word::If, {}, {condition.id()});
  for (const auto* trace : {&then, &otherwise}) {
    Scope scope(*this);
    for (const Value value : (*trace)()) {
      if (value.is_empty()) fail(*this, "if", "an empty Value from a branch", "a Value made by this builder");
      scope.region.results.push_back(value.id());
    }
    branch.regions.push_back(std::move(scope.region));
  }
  const std::vector<Id> first = branch.regions[0].results, second = branch.regions[1].results;
  const auto mismatch = [&] {
    if (first.size() != second.size()) return true;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (program_[first[i]].type != program_[second[i]].type) return true;
    }
    return false;
  };
  if (mismatch())
    fail(*this, "if", "branches that give (" + types(program_, first) + ") and (" + types(program_, second) + ")", "equal types");
  return results_of(append(std::move(branch)), first);
}

Program Builder::finish() {
  Program program = close_forms(remove_dead_code(std::move(program_)));
  program_ = {};
  known_.assign(1, {});
  verify(program);
  return program;
}

}  // namespace tegula::tile
