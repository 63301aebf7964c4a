#pragma once
// The expressions that one thread computes, and the types of its registers.
//
// An expression is a tree; its nodes are the expressions of C++ that kernels need. Group is a pair of parentheses: it changes no value.

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/simt/kernel/arena.h"
#include "tegula/simt/kernel/name.h"
#include "tegula/tile/ir.h"

namespace tegula::simt {

struct Type {
  enum class Kind : std::uint8_t {
    Computed,  // a number as threads compute with it: float, double, long long, int, these unsigned, bool
    Stored,    // a number as it lies in memory
    Wide,      // `count` stored numbers side by side, for the moment
    Packed,    // the same of a value that stays so: as it lies in memory, several numbers to a register, until it is used
    Placed,    // a computed number and the place where it was: what ArgReduce brings together
    Unsigned,  // the unsigned integer of the dtype's size: what the hardware changes atomically
    Byte,      // of shared memory
  };
  Kind kind = Kind::Computed;
  DType dtype = DType::f32;
  std::uint8_t pointers = 0;  // 1: to such numbers, 2: to pointers to them
  bool constant = false;  // of a pointer: to what is not changed through it
  int count = 1;
  bool operator==(const Type&) const = default;
  /// Returns true if the type is several numbers, as they are stored.
  bool is_vector() const { return pointers == 0 && (kind == Kind::Wide || kind == Kind::Packed); }
};
inline Type computed(DType dtype) { return {.kind = Type::Kind::Computed, .dtype = dtype}; }
inline Type stored(DType dtype) { return {.kind = Type::Kind::Stored, .dtype = dtype}; }
inline Type wide(DType dtype, int count) { return {.kind = Type::Kind::Wide, .dtype = dtype, .count = count}; }
inline Type packed(DType dtype, int count) { return {.kind = Type::Kind::Packed, .dtype = dtype, .count = count}; }
inline Type placed(DType dtype) { return {.kind = Type::Kind::Placed, .dtype = dtype}; }
inline Type pointer_to(Type type) { return ++type.pointers, type; }
/// The register's type of a value of the tile language.
inline Type type_of(const tile::Type& type) { return type.pointer ? pointer_to(stored(type.dtype)) : computed(type.dtype); }

/// The operation that brings two numbers together, as a reduction does; `placed`: the larger or the smaller one stays, with its place.
struct Operation {
  tile::Reduction kind = tile::Reduction::Sum;
  DType dtype = DType::f32;
  bool placed = false;
  bool operator==(const Operation&) const = default;
};

/// The register of a thread's tile that is meant: that of the loops over rows (r), vectors (c) and their elements (k) that are open.
enum class Place : std::uint8_t {
  One,
  Row /* [r] */,
  Vector /* [c] */,
  VectorOfRow /* [r][c] */,
  Column /* [c][k] */,
  Full /* [r][c][k] */
};

struct Expression;
using Expressions = std::vector<Expression, InArena<Expression>>;

struct Expression {
  enum class Kind : std::uint8_t {
    Name,         // a register or variable of one element, a parameter, a coordinate
    Held,         // the register of the array `name` at `place`
    Element,      // name[operand][operand]…
    Integer,      // an int
    Number,       // of `type`: real() where that is a float, else `integer`
    Unary,        // name operand
    Binary,       // operand name operand
    Choose,       // operand ? operand : operand
    Call,         // name(operands…), a function of the prelude or of CUDA
    Cast,         // static_cast<type>(operand)
    Reinterpret,  // reinterpret_cast<type>(operand)
    Group,        // (operand)
    Tuple,        // {operands…}
    Load,         // the stored number at the pointer, widened to what threads compute with
    Fold,         // operation of two operands
    Nothing,      // what changes nothing under the operation
    FoldVector,   // the operation over the elements of a wide or packed vector
    Widen,        // element operand[1] of such a vector, as threads compute with it
    Round,        // the operand as the stored type would keep it
    Member,       // operand.name
  };
  Kind kind = Kind::Integer;
  Place place = Place::One;
  Operation operation;
  Type type;
  std::int64_t integer = 0;  // of floats: the bits
  Name name;
  Expressions operands;

  Expression() = default;
  Expression(std::int64_t number) : integer(number) {}
  Expression(int number) : integer(number) {}
  Expression(std::size_t number) : integer(static_cast<std::int64_t>(number)) {}
  Expression(Name variable) : kind(Kind::Name), name(variable) {}
  Expression(const char* variable) : kind(Kind::Name), name(variable) {}
  Expression(Kind what, Name called, Expressions of) : kind(what), name(called), operands(std::move(of)) {}
  bool operator==(const Expression&) const = default;
  double real() const { return std::bit_cast<double>(integer); }
  bool is_name(Name variable) const { return kind == Kind::Name && name == variable; }
};

using Condition = std::optional<Expression>;  // nothing: always

Expression held(Name name, Place place);
Expression element(Name name, Expressions indices);
Expression call(Name function, Expressions operands);
/// The expressions as a list; none is copied that need not be.
template <class... E>
Expressions list(E&&... expressions) {
  Expressions all;
  all.reserve(sizeof...(expressions));
  (all.emplace_back(std::forward<E>(expressions)), ...);
  return all;
}
template <class... E>
Expression element(Name name, Expression index, E&&... further) {
  return element(name, list(std::move(index), std::forward<E>(further)...));
}
template <class... E>
Expression call(Name function, Expression operand, E&&... further) {
  return call(function, list(std::move(operand), std::forward<E>(further)...));
}
Expression unary(const char* sign, Expression operand);
Expression binary(Expression a, const char* sign, Expression b);
Expression choose(Expression when, Expression a, Expression b);
Expression cast(Type type, Expression operand);
Expression reinterpret(Type type, Expression operand);
Expression group(Expression operand);
Expression tuple(Expression a, Expression b);
Expression load(Expression pointer);
Expression fold(Operation operation, Expression a, Expression b);
Expression nothing(Operation operation);
Expression fold_vector(Operation operation, Expression vector);
Expression widened(Expression vector, Expression which);
Expression rounded(DType stored_as, Expression operand);
Expression member(Expression operand, const char* name);
Expression number(double value, DType dtype);
Expression number(std::int64_t value, DType dtype);
Expression zero(DType dtype);
/// Thread of the block, as an int.
Expression thread_index();

inline Expression operator+(Expression a, Expression b) { return binary(std::move(a), "+", std::move(b)); }
inline Expression operator-(Expression a, Expression b) { return binary(std::move(a), "-", std::move(b)); }
inline Expression operator*(Expression a, Expression b) { return binary(std::move(a), "*", std::move(b)); }
inline Expression operator/(Expression a, Expression b) { return binary(std::move(a), "/", std::move(b)); }
inline Expression operator%(Expression a, Expression b) { return binary(std::move(a), "%", std::move(b)); }
inline Expression operator<(Expression a, Expression b) { return binary(std::move(a), "<", std::move(b)); }

/// All of them hold.
Condition all_of(std::vector<Condition> conditions);
Condition both(Condition a, Condition b);
template <class... C>
Condition all_of(Condition first, C&&... further) {
  ((first = both(std::move(first), std::forward<C>(further))), ...);
  return first;
}

/// The expression as C++ (print/expression.cpp).
std::string text(const Expression& expression);

}  // namespace tegula::simt
