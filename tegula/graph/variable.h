#pragma once
// State: a value that owns a cell which can be assigned.

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

struct Gate;

/// The source of a cell's value that is not whole in this process (dist/parallel/sharding.h): reads and writes of the cell go to it.
class CellSource {
 public:
  CellSource() = default;
  virtual ~CellSource() = default;
  CellSource(const CellSource&) = delete;
  CellSource& operator=(const CellSource&) = delete;
  virtual Tensor read(const Line& where) const = 0;
  /// `value` has the cell's shape and dtype.
  virtual void write(const Tensor& value, const Line& where) const = 0;
};

/// The partition of a tensor among ranks: the cell holds this rank's part (dist/collectives/partition.h). All ranks call its functions in the same order.
class Partition {
 public:
  Partition() = default;
  virtual ~Partition() = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  /// The shape of the whole tensor.
  virtual const Shape& shape() const = 0;
  /// The whole, of everybody's parts: a collective.
  virtual Tensor whole(const Tensor& part, const Line& where) const = 0;
  /// This rank's part of the whole.
  virtual Tensor part(const Tensor& whole, const Line& where) const = 0;
  /// Σ over the ranks, of which each element of the whole lies on one. A collective.
  virtual Tensor sum(const Tensor& x, const Line& where) const = 0;
  /// Names the ranks: equal for equal ones.
  virtual std::int64_t ranks() const = 0;
  /// True if this rank writes the file that all ranks share.
  virtual bool writes() const = 0;
};

/// The storage behind a Variable. Shape and dtype never change. Held by parameter lists and traces.
/// Its value is a node of its own, a leaf for `grad`: over the same memory as the written tensor, or, while that is not computed, a view of it
/// through which no gradient flows.
class Cell final : public Shared {
 public:
  explicit Cell(Tensor value, const Line& where = Line());
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  /// Its value, of which a jit-ed function may be overwriting the memory; see handle().
  Tensor value() const;
  /// Its value, which does not change: waits while a jit-ed function that writes the cell runs on another thread (graph/gate.h).
  Tensor handle() const;
  /// Its value, for the holder of the gates of the functions that write the cell, or its only user.
  const Tensor& owned() const { return value_; }
  /// True if the thread that took the last handle is not this one.
  bool handed_elsewhere() const;
  /// Outside of traces; a write is pending until anything is evaluated on this thread, or until the value is asked for.
  void set(Tensor value, const Line& where = Line());
  /// The evaluated value (evaluates when pending).
  const Node& settled();
  /// Its number, which its values carry (Node::cell_number).
  std::uint32_t number() const { return number_; }
  /// The sequence number of its first value.
  std::uint64_t born() const { return born_; }
  /// Changes with every write, also with those in place, which are announced.
  std::uint64_t version() const { return version_; }
  void written_in_place() { ++version_; }

  /// From now on the value is kept there, and the cell has no memory of its own. Outside of traces.
  void keep_at(std::unique_ptr<const CellSource> source);
  /// Null for a cell that holds its value.
  const CellSource* source() const { return source_.get(); }

  /// The partition that this cell holds a part of, or null. An optimiser's moments, and copies, are partitioned as the parameter they belong to.
  const std::shared_ptr<const Partition>& partition() const { return partition_; }
  void set_partition(std::shared_ptr<const Partition> partition) { partition_ = std::move(partition); }

  /// The cells written on this thread whose value is pending, in the order of the writes. They are not kept alive by this.
  static std::vector<Ref<Cell>> pending();
  static bool any_pending();
  /// Leaves pending writes to later reads.
  static void settle_later();

 protected:
  void destroy() const override;

 private:
  friend class PendingCells;
  friend struct CellLists;
  class Brief;
  void own(Tensor value, const Line& where);
  void put(Tensor value);

  Tensor value_;  // touched_ protects the handle itself, trained_ and reader_
  mutable std::atomic_flag touched_;
  mutable bool trained_ = false;  // a jit-ed function writes it
  mutable const void* reader_ = nullptr;  // stands for the thread that took a handle last
  mutable std::vector<std::weak_ptr<Gate>> users_, writers_;  // jit-ed functions, under a mutex of graph/gate.cpp
  Shape shape_;
  DType dtype_;
  std::unique_ptr<const CellSource> source_;
  std::shared_ptr<const Partition> partition_;
  std::uint64_t version_ = 1, born_ = 0;
  std::uint32_t number_;
  mutable class PendingCells* pending_ = nullptr;  // the list it stands in, at pending_index_
  mutable std::size_t pending_index_ = 0;
};

/// A mutable value. A tensor that is read from it is a leaf, in every mode, evaluated or not: `grad` with
/// respect to a Variable counts the tensors computed from its present value, and no gradient flows through an assignment into the tensors that
/// the assigned value was computed from. To differentiate through a value, use the tensor that was assigned:
///   Tensor h = f(x, w);  state = h;  loss(h);      // gradients reach x and w
///   loss(state);                                   // they end at state; a warning names both lines when they could be meant
/// Value semantics: a copy is a new cell with the same contents (nothing is copied until one of them changes),
/// a move keeps the cell, so optimisers that hold it survive `return net`. Several threads: docs/design.md, "Threads".
class Variable : public FreeFunctions {
 public:
  Variable() = default;
  /// The initial value; creating a Variable inside a trace is an error.
  Variable(const Tensor& value, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Variable(T value, Line where = Line::current()) : Variable(Tensor(value, where), where) {}
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept = default;
  Variable& operator=(const Variable& other);
  Variable& operator=(Variable&& other) noexcept = default;
  ~Variable() = default;

  /// Writes a new value of the same shape (an integer or another float type is converted to the Variable's dtype).
  /// In a trace: in program order, committed together when the executable has run.
  Variable& operator=(const Tensor& value);
  /// The number in every element: adam.lr = 1e-4.
  template <class T>
  requires std::is_arithmetic_v<T>
  Variable& operator=(T value) {
    return defined() ? fill(value) : *this = Variable(value);
  }
  void assign(const Tensor& value, Line where = Line::current());
  /// The value as the program sees it here.
  Tensor read(Line where = Line::current()) const;
  /// Functions of the value, as Tensor has them: net.weight.print(), adam.lr.item(). In a trace they are errors.
  template <class T = float>
  T item(Line where = Line::current()) const {
    return read(where).template item<T>(where);
  }
  template <class T = float>
  std::vector<T> to_host(Line where = Line::current()) const {
    return read(where).template to_host<T>(where);
  }
  HostArray to_array(Line where = Line::current()) const { return read(where).to_array(where); }
  std::string print(Line where = Line::current()) const { return read(where).print(where); }

  const Shape& shape(Line where = Line::current()) const;
  DType dtype(Line where = Line::current()) const;
  const Ref<Cell>& cell(Line where = Line::current()) const;
  bool defined() const { return static_cast<bool>(cell_); }

 private:
  Variable& fill(Number value);
  Ref<Cell> cell_;
};

/// A named cell: what parameters(net) lists and optimisers hold.
struct Parameter {
  std::string name;  // "conv1.weight"
  Ref<Cell> cell;
  Tensor read(Line where = Line::current()) const;
  void assign(const Tensor& value, Line where = Line::current()) const;
  /// The same of the whole where ranks share it out: what files hold. Reading is a collective then.
  const Shape& whole_shape() const;
  Tensor read_whole(Line where = Line::current()) const;
  void assign_whole(const Tensor& value, Line where = Line::current()) const;
};
using Parameters = std::vector<Parameter>;

/// Reads and writes of a cell as the innermost trace of this thread (or the program) sees them.
Tensor read_cell(const Ref<Cell>& cell, const Line& where);
void write_cell(const Ref<Cell>& cell, const Tensor& value, const Line& where);

/// A plain value that a trace may depend on (train/eval, a step kind): reading it inside a trace adds a condition, so that the
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
