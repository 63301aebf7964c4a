#pragma once
// State: a value that owns a cell which can be assigned.

#include <initializer_list>
#include <memory>
#include <string>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The storage behind a Variable. Shape and dtype never change. Held by parameter lists and traces.
class Cell final : public Shared {
 public:
  Cell(Tensor value) : value_(std::move(value)) {}
  const Tensor& value() const { return value_; }
  /// Outside of traces; the write is pending until anything is evaluated on this thread.
  void set(Tensor value);
  /// The evaluated value (evaluates when pending).
  const Node& settled();
  /// False while it holds the value it was made with.
  bool written() const { return written_; }
  /// Changes with every write, also with those in place, which are announced.
  std::uint64_t version() const { return version_; }
  void written_in_place() { ++version_; }

 private:
  Tensor value_;
  std::uint64_t version_ = 1;
  bool written_ = false;
};

/// A cell with value semantics: a copy is a new cell with the same contents (nothing is copied until one of them changes),
/// a move keeps the cell, so optimisers that hold it survive `return net`.
class Variable {
 public:
  using Location = std::source_location;
  Variable() = default;
  /// The initial value; creating a Variable inside a trace is an error.
  Variable(const Tensor& value, Location where = Location::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Variable(T value, Location where = Location::current()) : Variable(Tensor(value, where), where) {}
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept = default;
  Variable& operator=(const Variable& other);
  Variable& operator=(Variable&& other) noexcept = default;
  ~Variable() = default;

  /// Writes a new value of the same shape (an integer or another float type is converted to the Variable's dtype).
  /// In a trace: in program order, committed together when the executable has run.
  Variable& operator=(const Tensor& value);
  /// The number in every element: adam.lr = 1e-4.
  Variable& operator=(double value);
  void assign(const Tensor& value, Location where = Location::current());
  /// The value as the program sees it here.
  Tensor read(Location where = Location::current()) const;

  const Shape& shape(Location where = Location::current()) const;
  DType dtype(Location where = Location::current()) const;
  const Ref<Cell>& cell(Location where = Location::current()) const;
  bool defined() const { return static_cast<bool>(cell_); }

 private:
  Ref<Cell> cell_;
};

/// A named cell: what parameters(net) lists and optimisers hold.
struct Parameter {
  std::string name;  // "conv1.weight"
  Ref<Cell> cell;
  Tensor read(std::source_location where = std::source_location::current()) const;
  void assign(const Tensor& value, std::source_location where = std::source_location::current()) const;
};
using Parameters = std::vector<Parameter>;

/// Reads and writes of a cell as the innermost trace of this thread (or the program) sees them.
Tensor read_cell(const Ref<Cell>& cell, const std::source_location& where);
void write_cell(const Ref<Cell>& cell, const Tensor& value, const std::source_location& where);

/// A plain value that a trace may depend on (train/eval, a step kind): reading it inside a trace adds a guard, so that the
/// trace is made again when the value has changed.
class Flag {
 public:
  explicit Flag(int value = 0) : value_(std::make_shared<int>(value)) {}
  Flag(const Flag& other) : value_(std::make_shared<int>(*other.value_)) {}
  Flag(Flag&&) noexcept = default;
  Flag& operator=(const Flag& other) {
    *value_ = *other.value_;
    return *this;
  }
  Flag& operator=(Flag&&) noexcept = default;
  ~Flag() = default;
  Flag& operator=(int value) {
    *value_ = value;
    return *this;
  }
  int get() const;
  operator int() const { return get(); }

 private:
  std::shared_ptr<int> value_;
};

}  // namespace tegula
