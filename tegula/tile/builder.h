#pragma once
// Writing tile programs: `Value` is what formulas and lowerings compute with, `Builder` owns the program under construction.

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "tegula/core/line.h"
#include "tegula/tile/access_hints.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {

class Builder;

/// A handle to one SSA value of a builder. Arithmetic emits instructions; a number beside a Value takes the Value's dtype.
/// Tiles of different shapes broadcast as in NumPy.
class Value {
 public:
  Value() = default;
  Value(Builder* builder, Id id) : builder_(builder), id_(id) {}
  Builder* builder() const { return builder_; }
  Id id() const { return id_; }
  Type type() const;  // a copy: the builder's instructions move in memory as it grows
  DType dtype() const { return type().dtype; }
  Shape shape() const { return type().shape; }
  bool is_empty() const { return builder_ == nullptr; }  // not !value, which emits a Not
  explicit operator bool() const { return !is_empty(); }

 private:
  Builder* builder_ = nullptr;
  Id id_ = -1;
};

class Builder {
 public:
  explicit Builder(std::string name) { program_.name = std::move(name); }
  Builder(const Builder&) = delete;  // Values point at it
  Builder& operator=(const Builder&) = delete;

  // Parameters, in the order of the launch's arguments.
  Value pointer(std::string name, DType dtype, bool writable);
  Value scalar(std::string name, DType dtype);

  Value constant(double value, DType dtype);
  Value constant(std::int64_t value, DType dtype);
  Value program_id(int axis);
  Value num_programs(int axis);
  /// (count) i64: begin, begin + 1, …
  Value arange(std::int64_t begin, std::int64_t count);
  Value full(const Shape& shape, double value, DType dtype);

  /// Pointer, mask and other broadcast against each other.
  Value load(Value pointer, Value mask = {}, Value other = {}, Line where = Line::current()) {
    return load({}, pointer, mask, other, where);
  }
  Value load(const AccessHints& hints, Value pointer, Value mask = {}, Value other = {}, Line where = Line::current());
  /// Value and mask broadcast to the pointer's shape. The value has the compute type of the pointer's elements (see compute_type).
  void store(Value pointer, Value value, Value mask = {}, Line where = Line::current()) { store({}, pointer, value, mask, where); }
  void store(const AccessHints& hints, Value pointer, Value value, Value mask = {}, Line where = Line::current());
  /// What was there before; zero where the mask is false. `compared`: of CompareAndSwap.
  Value atomic(const Atomic& what, Value pointer, Value value, Value mask = {}, Value compared = {}, Line where = Line::current());
  void atomic_add(Value pointer, Value value, Value mask = {}, Line where = Line::current()) {
    atomic({}, pointer, value, mask, {}, where);
  }
  /// Where condition is false the launch fails with (id, value).
  void check(Value condition, Value value, std::int64_t id);
  /// For a tile_kernel: where condition is false it throws an Error with the value (i64), the sentence, which says what should hold, and this line.
  void check(Value condition, Value value, std::string sentence, Line where = Line::current());
  /// What the check with this id says, and where it stands; nothing for one that was given an id.
  struct Sentence {
    std::string text;
    Line where;
  };
  static constexpr std::int64_t kFirstSentence = std::int64_t{1} << 20;
  const std::vector<Sentence>& sentences() const { return sentences_; }
  /// Checks emitted from now on report scope * kCheckIds + id, so that several ops of one program can be told apart.
  static constexpr std::int64_t kCheckIds = 16;
  void set_check_scope(std::int64_t scope) { check_scope_ = scope; }
  /// What lies outside of these, (R, 1) and (1, C) or empty, is not checked from now on: nobody asked for it.
  void set_check_masks(Value rows, Value columns) { check_rows_ = rows, check_columns_ = columns; }

  /// What follows may count on it: a bool scalar.
  void assume(Value condition) { emit(Word::Assume, {}, {condition.id()}); }
  /// The threads of an instance wait for each other: what each did before is seen by all behind it.
  void barrier() { emit(Word::Barrier, {}, {}); }
  /// Shows a label and the first elements where the program runs.
  void print(std::string label, Value value, Line where = Line::current());
  /// Element by element what the text says, whose constraints are of the result and of the operands. The result is of `dtype`, and of the operands' shape.
  Value inline_asm(Text text, std::vector<Value> operands, DType dtype);

  /// Calls body(induction variable, carried) once, to trace it; body returns the next carried values, of the types of the initial
  /// ones. The results are the last ones. begin, end and step (> 0) are integer scalars.
  std::vector<Value> for_(Value begin, Value end, Value step, std::vector<Value> initial,
                          const std::function<std::vector<Value>(Value, std::span<const Value>)>& body, std::int64_t hints = 0);
  /// So long as the condition, a boolean scalar, holds: body(carried) is called once, to trace it, and returns whether there is another iteration and the
  /// next carried values, of the types of the initial ones. The results are the last ones.
  struct Next {
    Value again;
    std::vector<Value> carried;
  };
  std::vector<Value> while_(Value condition, std::vector<Value> initial, const std::function<Next(std::span<const Value>)>& body);
  /// condition: boolean scalar. Both branches return the same number of values of the same types.
  std::vector<Value> if_(Value condition, const std::function<std::vector<Value>()>& then,
                         const std::function<std::vector<Value>()>& otherwise);

  /// Emits one instruction after checking its types, or finds an equal one that is already there; the general door, used by the
  /// functions below. Pure instructions are shared within a region and the regions around it, and integer arithmetic is folded.
  Value emit(Word word, Type type, std::vector<Id> operands, std::int64_t attribute = 0, Reduction kind = Reduction::Sum,
             std::int64_t attribute2 = 0);

  /// Source line recorded on instructions emitted from now on.
  void set_location(const Line& where) { where_ = where; }
  /// From now on each load, store, atomic word and check bears the line on which it is written.
  void locate_each_access() { each_access_ = true; }
  const Program& program() const { return program_; }
  Line location() const { return where_; }
  /// Removes what is not used, verifies, and hands over the program. Values of this builder are void afterwards.
  Program finish();

 private:
  friend class Value;
  struct Scope;  // an open region
  class Located;
  using KnownValues = std::unordered_multimap<std::uint64_t, Id>;

  Id append(Instruction instruction);
  /// The instruction, or an equal earlier one that can be seen from here.
  Id intern(Instruction instruction);
  /// A value that is equal by integer and boolean arithmetic, or -1.
  Id simplify(const Instruction& instruction);
  Region& region() { return open_.empty() ? program_.body : *open_.back(); }
  std::vector<Value> results_of(Id control, const std::vector<Id>& yielded);
  Region loop_body(const char* word, const std::vector<Value>& initial,
                   const std::function<std::vector<Value>(Value, std::span<const Value>)>& body);

  Program program_;
  std::vector<Region*> open_;
  std::vector<KnownValues> known_{1};  // by hash; one for the program's body and one for each open region
  Line where_{};
  bool each_access_ = false;
  std::vector<Sentence> sentences_;
  std::int64_t check_scope_ = 0;
  Value check_rows_, check_columns_;
};

// Elementwise. All operands of one dtype (numbers adapt); tiles broadcast.
Value unary(Word word, Value x);
Value binary(Word word, Value a, Value b);
Value select(Value condition, Value a, Value b);
Value fma(Value a, Value b, Value c);
/// To f16, bf16, e4m3, e5m2, i16, i8, u16 or u8: cast to its compute type, with the values narrowed to those the stored type can hold.
Value cast(Value x, DType dtype);
Value narrow(Value x, DType stored);
Value bitcast(Value x, DType dtype);
/// The number in the dtype of `like`; i64 beside a pointer. Throws when an integer dtype cannot hold it.
Value number(double value, Value like);

// Shape.
Value broadcast(Value x, const Shape& shape);
Value expand_dims(Value x, int axis);
Value reshape(Value x, const Shape& shape);  // () makes a scalar of one element
Value transpose(Value x);
inline Value col(Value x) { return expand_dims(x, 1); }  // x[:, None]
inline Value row(Value x) { return expand_dims(x, 0); }  // x[None, :]

// Across a tile.
Value reduce(Value x, int axis, Reduction kind);  // axis stays with size 1
Value arg_reduce(Value x, int axis, Reduction kind /* Min or Max */);  // i64
Value scan(Value x, int axis, Reduction kind);
Value sort(Value x, int axis, bool descending);
Value argsort(Value x, int axis, bool descending);
Value dot(Value a, Value b, Value accumulator);
/// x[…, place, …] along an axis; 0 where a place is outside. The places have x's other sizes.
Value gather(Value x, Value places, int axis);
/// (bins) i32: how often each of 0 … bins - 1 comes in x, of any shape; of those elements where the mask holds, if there is one.
Value histogram(Value x, std::int64_t bins, Value mask = {});
/// x, of which something is known (HintKind).
Value hint(Value x, HintKind kind, std::int64_t number);
Value random_bits(Value seed, Value index);

inline Value operator-(Value x) { return unary(Word::Neg, x); }
inline Value operator!(Value x) { return unary(Word::Not, x); }

// Operators over (Value, Value), (Value, number), (number, Value).
template <class T>
concept Number = std::is_arithmetic_v<T>;
inline Value lift(Value x, Value) { return x; }
template <Number T>
Value lift(T x, Value like) {
  return number(static_cast<double>(x), like);
}
template <class A, class B>
concept Operands = (std::same_as<A, Value> && (std::same_as<B, Value> || Number<B>)) || (Number<A> && std::same_as<B, Value>);
template <class A, class B>
Value binary_lifted(Word word, A a, B b) {
  if constexpr (std::same_as<A, Value>) return binary(word, a, lift(b, a));
  else return binary(word, lift(a, b), b);
}
// clang-format off: one operator a line
template <class A, class B> requires Operands<A, B> Value operator+(A a, B b) { return binary_lifted(Word::Add, a, b); }
template <class A, class B> requires Operands<A, B> Value operator-(A a, B b) { return binary_lifted(Word::Sub, a, b); }
template <class A, class B> requires Operands<A, B> Value operator*(A a, B b) { return binary_lifted(Word::Mul, a, b); }
template <class A, class B> requires Operands<A, B> Value operator/(A a, B b) { return binary_lifted(Word::Div, a, b); }
template <class A, class B> requires Operands<A, B> Value operator%(A a, B b) { return binary_lifted(Word::Rem, a, b); }
template <class A, class B> requires Operands<A, B> Value operator==(A a, B b) { return binary_lifted(Word::Eq, a, b); }
template <class A, class B> requires Operands<A, B> Value operator!=(A a, B b) { return binary_lifted(Word::Ne, a, b); }
template <class A, class B> requires Operands<A, B> Value operator<(A a, B b) { return binary_lifted(Word::Lt, a, b); }
template <class A, class B> requires Operands<A, B> Value operator<=(A a, B b) { return binary_lifted(Word::Le, a, b); }
template <class A, class B> requires Operands<A, B> Value operator>(A a, B b) { return binary_lifted(Word::Gt, a, b); }
template <class A, class B> requires Operands<A, B> Value operator>=(A a, B b) { return binary_lifted(Word::Ge, a, b); }
// clang-format on
inline Value operator&&(Value a, Value b) { return binary(Word::And, a, b); }
inline Value operator||(Value a, Value b) { return binary(Word::Or, a, b); }
inline Value operator&(Value a, Value b) { return binary(Word::And, a, b); }
inline Value operator|(Value a, Value b) { return binary(Word::Or, a, b); }
inline Value operator^(Value a, Value b) { return binary(Word::Xor, a, b); }

}  // namespace tegula::tile
