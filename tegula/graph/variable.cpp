#include "tegula/graph/variable.h"

#include <atomic>
#include <mutex>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/gate.h"
#include "tegula/graph/history.h"
#include "tegula/graph/names.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

[[noreturn]] void throw_empty(const Line& where) {
  throw Error({.op = "Variable",
               .got = "an empty Variable",
               .expected = "one with a value",
               .advice = "it was default-constructed or moved from",
               .where = origin_at(where).where});
}

// The value a cell may hold: of the cell's shape and dtype.
Tensor fitted(const Tensor& value, const Cell& like, const Line& where) {
  if (value.shape(where) != like.shape()) {
    throw Error({.op = "assign",
                 .got = "a value of shape " + to_string(value.shape()),
                 .expected = "the Variable's shape " + to_string(like.shape()),
                 .advice = "a Variable never changes its shape; make a new one",
                 .where = origin_at(where).where});
  }
  return graph::cast(value, like.dtype(), where);
}

}  // namespace

/// Cells by address, so that a model that is not held any more dies although its weights were never computed.
class PendingCells {
 public:
  static PendingCells& of_this_thread() {
    thread_local PendingCells cells;
    return cells;
  }
  ~PendingCells() { clear(); }

  void add(const Cell& cell) {
    std::scoped_lock lock(mutex_);
    if (cell.pending_ == this) return;
    take_out(cell);
    if (cells_.size() >= 64 && count_ * 2 < cells_.size()) close_gaps();
    cell.pending_ = this;
    cell.pending_index_ = cells_.size();
    cells_.push_back(&cell);
    ++count_;
  }
  static void remove(const Cell& cell) {
    std::scoped_lock lock(mutex_);
    take_out(cell);
  }
  void clear() {
    std::scoped_lock lock(mutex_);
    for (const Cell* cell : cells_) {
      if (cell) cell->pending_ = nullptr;
    }
    cells_.clear();
    count_ = 0;
  }
  bool any() const {
    std::scoped_lock lock(mutex_);
    return count_ > 0;
  }
  std::vector<Ref<Cell>> alive() const {
    std::scoped_lock lock(mutex_);
    std::vector<Ref<Cell>> out;
    for (const Cell* cell : cells_) {
      if (!cell) continue;
      if (Ref<Cell> held = ref_if_alive(const_cast<Cell*>(cell))) out.push_back(std::move(held));
    }
    return out;
  }

 private:
  static void take_out(const Cell& cell) {
    if (!cell.pending_) return;
    cell.pending_->cells_[cell.pending_index_] = nullptr;
    --cell.pending_->count_;
    cell.pending_ = nullptr;
  }
  void close_gaps() {
    std::erase(cells_, nullptr);
    for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i]->pending_index_ = i;
  }

  static inline std::mutex mutex_;  // protects all threads' lists: cells die on any of them
  std::vector<const Cell*> cells_;  // null: removed
  std::size_t count_ = 0;
};

Cell::Cell(Tensor value, const Line& where) : shape_(value.shape()), dtype_(value.dtype()) {
  static std::atomic<std::uint32_t> next{1};
  number_ = next.fetch_add(1, std::memory_order_relaxed);
  own(std::move(value), where);
  born_ = value_.node()->sequence();
}

void Cell::set(Tensor value, const Line& where) {
  const Ref<Node> before = value_.node();
  own(std::move(value), where);
  ++version_;
  if (before->has_value() && before->use_count() > 1) KeptHistory::replaced(*before);
}

void Cell::own(Tensor value, const Line& where) {
  const Ref<Node>& node = value.node();
  if (!node->has_value()) {
    value = graph::variable(value, where.line() > 0 ? where : node->origin().where);
  } else if (node->use_count() > 1 || node->op_ref() != leaf_op()) {  // a leaf without another holder will do
    Ref<Node> leaf = make<Node>(leaf_op(), std::span<const Ref<Node>>(), node->shape(), node->dtype(),
                                where.line() > 0 ? origin_at(where) : node->origin());
    leaf->set_value(node->buffer(), node->layout());
    value = Tensor(std::move(leaf));
  }
  value.node()->set_cell_number(number_);
  const bool pending = !value.node()->has_value();
  put(std::move(value));
  if (pending) PendingCells::of_this_thread().add(*this);
}

void Cell::destroy() const {
  PendingCells::remove(*this);
  forget_name(number_);
  delete this;
}

std::vector<Ref<Cell>> Cell::pending() { return PendingCells::of_this_thread().alive(); }
bool Cell::any_pending() { return PendingCells::of_this_thread().any(); }
void Cell::settle_later() { PendingCells::of_this_thread().clear(); }

const Node& Cell::settled() {
  if (!value_.node()->has_value()) {
    const Ref<Node> nodes[] = {value_.node()};
    evaluate(nodes, Line{});
  }
  return *value_.node();
}

void Cell::keep_at(std::unique_ptr<const CellSource> source) {
  refuse_in_trace("keeping a Variable elsewhere", Line{});
  when_unused(*this, [&] {
    PendingCells::remove(*this);
    source_ = std::move(source);
    put(graph::full(Shape{0}, 0, dtype_));
    ++version_;
  });
}

Tensor read_cell(const Ref<Cell>& cell, const Line& where) {
  if (const CellSource* source = cell->source()) return source->read(where);
  if (Trace* trace = Trace::current()) return trace->use(cell).current;
  return cell->handle();
}

void write_cell(const Ref<Cell>& cell, const Tensor& value, const Line& where) {
  Tensor next = fitted(value, *cell, where);
  if (const CellSource* source = cell->source()) return source->write(next, where);
  if (Trace* trace = Trace::current()) {
    auto& use = trace->use(cell);
    use.current = graph::variable(next, where.line() > 0 ? where : next.node()->origin().where);
    use.current.node()->set_cell_number(cell->number());
    use.written = true;
  } else {
    when_unused(*cell, [&] { cell->set(std::move(next), where); });
  }
}

Variable::Variable(const Tensor& value, Line where) {
  if (Trace* trace = Trace::current()) {
    throw Error({.op = "Variable",
                 .got = "a Variable created inside " + trace->name(),
                 .expected = "state that exists before the function is called",
                 .advice = "create it outside and capture it by reference",
                 .where = origin_at(where).where});
  }
  value.shape(where);  // refuses an empty tensor
  cell_ = make<Cell>(value, where);
}

Variable::Variable(const Variable& other) {
  if (!other.cell_) return;
  *this = Variable(other.read());  // refuses inside a trace
  cell_->set_partition(other.cell_->partition());
}

Variable& Variable::operator=(const Variable& other) {
  if (this == &other) return *this;
  if (!other.cell_) throw_empty(Line{});
  if (!cell_) cell_ = make<Cell>(other.cell_->handle()), cell_->set_partition(other.cell_->partition());
  else assign(other.read(), Line{});
  return *this;
}

Variable& Variable::operator=(const Tensor& value) {
  if (!cell_) cell_ = Variable(value).cell_;
  else assign(value, value.defined() ? value.node()->origin().where : Line{});
  return *this;
}

Variable& Variable::fill(Number value) {
  assign(graph::full(shape(), value, dtype()), Line{});
  return *this;
}

void Variable::assign(const Tensor& value, Line where) { write_cell(cell(where), value, where); }

Tensor Variable::read(Line where) const { return read_cell(cell(where), where); }

const Shape& Variable::shape(Line where) const { return cell(where)->shape(); }
DType Variable::dtype(Line where) const { return cell(where)->dtype(); }

const Ref<Cell>& Variable::cell(Line where) const {
  if (!cell_) throw_empty(where);
  return cell_;
}

Tensor Parameter::read(Line where) const { return read_cell(cell, where); }
void Parameter::assign(const Tensor& value, Line where) const { write_cell(cell, value, where); }

const Shape& Parameter::whole_shape() const { return cell->partition() ? cell->partition()->shape() : cell->shape(); }
Tensor Parameter::read_whole(Line where) const { return cell->partition() ? cell->partition()->whole(read(where), where) : read(where); }
void Parameter::assign_whole(const Tensor& value, Line where) const {
  assign(cell->partition() ? cell->partition()->part(value, where) : value, where);
}

int Flag::get() const {
  if (Trace* trace = Trace::current()) trace->depend_on(value_);
  return *value_;
}

}  // namespace tegula
