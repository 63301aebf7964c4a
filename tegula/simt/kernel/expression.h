#pragma once
// What one thread computes: types of registers, and expressions over them.
//
// An expression is a tree; its nodes are the expressions of C++ that kernels need. Group is a pair of parentheses: it changes no value.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/tile/ir.h"

namespace tegula::simt {

struct Type {
  enum class Kind : std::uint8_t {
    Computed,  // a number as threads compute with it: float, double, long long, int, bool
    Stored,    // a number as it lies in memory
    Wide,      // `count` stored numbers side by side
    Placed,    // a computed number and the place where it was: what ArgReduce brings together
    Unsigned,  // the unsigned integer of the dtype's size: what the hardware adds atomically
    Byte,      // of shared memory
  };
  Kind kind = Kind::Computed;
  DType dtype = DType::f32;
  int count = 1;
  int pointers = 0;       // 1: to such numbers, 2: to pointers to them
  bool constant = false;  // of a pointer: to what is not changed through it
  bool operator==(const Type&) const = default;
};
inline Type computed(DType dtype) { return {.kind = Type::Kind::Computed, .dtype = dtype}; }
inline Type stored(DType dtype) { return {.kind = Type::Kind::Stored, .dtype = dtype}; }
inline Type wide(DType dtype, int count) { return {.kind = Type::Kind::Wide, .dtype = dtype, .count = count}; }
inline Type placed(DType dtype) { return {.kind = Type::Kind::Placed, .dtype = dtype}; }
inline Type pointer_to(Type type) { return ++type.pointers, type; }
/// Of a value of the tile language.
inline Type type_of(const tile::Type& type) { return type.pointer ? pointer_to(stored(type.dtype)) : computed(type.dtype); }

/// What brings two numbers together: a reduction's operation; `placed`: of numbers with their places, the larger or the smaller stays.
struct Operation {
  tile::Reduction kind = tile::Reduction::Sum;
  DType dtype = DType::f32;
  bool placed = false;
  bool operator==(const Operation&) const = default;
};

struct Expression {
  enum class Kind : std::uint8_t {
    Text,         // `name` as it stands; goes when the facts are data
    Name,         // a register or variable of one element, a parameter, a coordinate
    Element,      // name[operand][operand]…
    Integer,      // an int
    Number,       // of `type`: `real` where that is a float, else `integer`
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
    FoldVector,   // the operation over the elements of a packed vector
    Round,        // the operand as the stored type would keep it
    Member,       // operand.name
  };
  Kind kind = Kind::Integer;
  std::string name;
  std::int64_t integer = 0;
  double real = 0;
  Type type;
  Operation operation;
  std::vector<Expression> operands;

  Expression() = default;
  Expression(std::int64_t number) : integer(number) {}
  Expression(int number) : integer(number) {}
  Expression(std::size_t number) : integer(static_cast<std::int64_t>(number)) {}
  Expression(std::string variable) : kind(Kind::Name), name(std::move(variable)) {}
  Expression(const char* variable) : kind(Kind::Name), name(variable) {}
  Expression(Kind what, std::string called, std::vector<Expression> of) : kind(what), name(std::move(called)), operands(std::move(of)) {}
  bool operator==(const Expression&) const = default;
  bool is_name(const char* variable) const { return kind == Kind::Name && name == variable; }
};

using Condition = std::optional<Expression>;  // nothing: always

Expression raw(std::string text);
Expression element(std::string name, std::vector<Expression> indices);
Expression call(std::string function, std::vector<Expression> operands);
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

/// The expression as C++ (print/expression.cpp).
std::string text(const Expression& expression);
std::string name_of(const Type& type);
std::string name_of(const Operation& operation);

}  // namespace tegula::simt
