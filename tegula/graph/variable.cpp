#include "tegula/graph/variable.h"

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

[[noreturn]] void throw_empty(const std::source_location& where) {
  throw Error({.op = "Variable",
               .got = "an empty Variable",
               .expected = "one with a value",
               .advice = "it was default-constructed or moved from",
               .where = origin_at(where).where});
}

// The value a cell may hold: of the cell's shape and dtype.
Tensor fitted(const Tensor& value, const Tensor& like, const std::source_location& where) {
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

void Cell::set(Tensor value) {
  value_ = std::move(value);
  written_ = true;
  ++version_;
  if (!value_.node()->has_value()) pending_writes().emplace_back(this);
}

const Node& Cell::settled() {
  if (!value_.node()->has_value()) {
    const Ref<Node> nodes[] = {value_.node()};
    evaluate(nodes, std::source_location{});
  }
  return *value_.node();
}

Tensor read_cell(const Ref<Cell>& cell, const std::source_location&) {
  if (Trace* trace = Trace::current()) return trace->use(cell).current;
  return cell->value();
}

void write_cell(const Ref<Cell>& cell, const Tensor& value, const std::source_location& where) {
  Tensor next = fitted(value, cell->value(), where);
  if (Trace* trace = Trace::current()) {
    auto& use = trace->use(cell);
    use.current = std::move(next);
    use.written = true;
  } else {
    cell->set(std::move(next));
  }
}

Variable::Variable(const Tensor& value, Location where) {
  if (Trace* trace = Trace::current()) {
    throw Error({.op = "Variable",
                 .got = "a Variable created inside the jit at " + to_string(trace->where()),
                 .expected = "state that exists before the function is called",
                 .advice = "create it outside and capture it by reference",
                 .where = origin_at(where).where});
  }
  value.shape(where);  // refuses an empty tensor
  cell_ = make<Cell>(value);
  if (!value.node()->has_value()) pending_writes().push_back(cell_);
}

Variable::Variable(const Variable& other) {
  if (!other.cell_) return;
  *this = Variable(other.read());  // refuses inside a trace
}

Variable& Variable::operator=(const Variable& other) {
  if (this == &other) return *this;
  if (!other.cell_) throw_empty(Location{});
  if (!cell_) cell_ = make<Cell>(other.cell_->value());
  else assign(other.read(), Location{});
  return *this;
}

Variable& Variable::operator=(const Tensor& value) {
  if (!cell_) cell_ = Variable(value).cell_;
  else assign(value, value.defined() ? value.node()->origin().where : Location{});
  return *this;
}

Variable& Variable::operator=(double value) {
  if (!cell_) return *this = Tensor(value);
  assign(graph::full(shape(), value, dtype()), Location{});
  return *this;
}

void Variable::assign(const Tensor& value, Location where) { write_cell(cell(where), value, where); }

Tensor Variable::read(Location where) const { return read_cell(cell(where), where); }

const Shape& Variable::shape(Location where) const { return cell(where)->value().shape(); }
DType Variable::dtype(Location where) const { return cell(where)->value().dtype(); }

const Ref<Cell>& Variable::cell(Location where) const {
  if (!cell_) throw_empty(where);
  return cell_;
}

Tensor Parameter::read(std::source_location where) const { return read_cell(cell, where); }
void Parameter::assign(const Tensor& value, std::source_location where) const { write_cell(cell, value, where); }

int Flag::get() const {
  if (Trace* trace = Trace::current()) trace->guard(value_);
  return *value_;
}

}  // namespace tegula
