#include "tegula/runtime/interpreter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/scalar_words.h"

namespace tegula::tile {
namespace {

using Int = std::int64_t;
using Elements = std::vector<Scalar>;  // row-major

std::size_t at(Int index) { return static_cast<std::size_t>(index); }

Scalar read(DType stored, Int address) {
  return visit(stored, [&](auto zero) -> Scalar {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) return {0, *reinterpret_cast<const std::uint8_t*>(address) != 0};
    const T value = *reinterpret_cast<const T*>(address);
    if constexpr (std::is_integral_v<T>) return {0, static_cast<Int>(value)};
    else return {as_double(value), 0};
  });
}

void write(DType stored, Int address, Scalar value) {
  visit(stored, [&](auto zero) {
    using T = decltype(zero);
    T& place = *reinterpret_cast<T*>(address);
    if constexpr (std::is_same_v<T, bool>) place = value.integer != 0;
    else if constexpr (std::is_integral_v<T>) place = static_cast<T>(value.integer);
    else place = from_double<T>(value.real);
  });
}

Scalar pick(const Elements& elements, std::size_t i) { return elements.size() == 1 ? elements[0] : elements[i]; }

Scalar combine(Reduction kind, DType dtype, Scalar a, Scalar b) {
  constexpr Word kWords[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};
  const Scalar pair[2]{a, b};
  return evaluate(kWords[static_cast<std::size_t>(kind)], dtype, dtype, 0, pair);
}

/// Calls f(positions of one line along the axis, index of the line) for every line of the operand.
template <class F>
void for_lines(const Type& type, int axis, F&& f) {
  const Strides strides = dense_strides(type.shape);
  const Int length = type.shape[axis], stride = strides[axis];
  std::vector<std::size_t> line(at(length));
  Int number = 0;
  for (Int outer = 0; outer < numel(type.shape); outer += length * stride) {
    for (Int inner = 0; inner < stride; ++inner) {
      for (Int i = 0; i < length; ++i) line[at(i)] = at(outer + inner + i * stride);
      f(line, at(number++));
    }
  }
}

}  // namespace

std::vector<Id> Interpreter::catch_up() {
  values_.resize(program_.instructions.size());
  results_.resize(values_.size());
  const std::vector<Id>& body = program_.body.body;
  const std::vector<Id> fresh(body.begin() + static_cast<std::ptrdiff_t>(done_), body.end());
  done_ = body.size();
  for (const Id id : fresh) execute(id);
  return fresh;
}

const Interpreter::Elements& Interpreter::look(Id id) {
  if (value(id).empty()) execute(id);
  return value(id);
}

std::vector<Interpreter::Elements> Interpreter::run(const Region& region) {
  for (const Id id : region.body) execute(id);
  std::vector<Elements> results;
  for (const Id id : region.results) results.push_back(value(id));
  return results;
}

void Interpreter::execute(Id id) {
  const Instruction& self = program_[id];
  if (self.word == Word::For) run_for(id);
  else if (self.word == Word::While) run_while(id);
  else if (self.word == Word::If) results_[static_cast<std::size_t>(id)] = run(self.regions[operand(self, 0)[0].integer ? 0 : 1]);
  else if (self.word == Word::Result) value(id) = results_[static_cast<std::size_t>(self.operands[0])][at(self.attribute)];
  else if (self.word == Word::Hint) value(id) = operand(self, 0);
  else if (is_elementwise(self.word)) value(id) = elementwise(self);
  else if (self.word <= Word::Arange) value(id) = source(self);
  else if (self.word <= Word::Transpose) value(id) = shape_word(self);
  else if (self.word <= Word::Atomic) value(id) = memory(self);
  else if (self.word <= Word::ArgSort) value(id) = across(self);
  else value(id) = rest(self);
}

void Interpreter::run_for(Id id) {
  const Instruction& self = program_[id];
  const Region& body = self.regions[0];
  std::vector<Elements> carried;
  for (std::size_t i = 3; i < self.operands.size(); ++i) carried.push_back(operand(self, i));
  const Int end = operand(self, 1)[0].integer, step = operand(self, 2)[0].integer;
  if (step < 1)
    throw Error({.op = "interpreter", .got = "a for step of " + std::to_string(step), .expected = "at least 1", .where = self.where});
  for (Int i = operand(self, 0)[0].integer; i < end; i += step) {
    value(body.parameters[0]) = {{0, i}};
    for (std::size_t k = 0; k < carried.size(); ++k) value(body.parameters[k + 1]) = carried[k];
    carried = run(body);
  }
  results_[static_cast<std::size_t>(id)] = std::move(carried);
}

void Interpreter::run_while(Id id) {
  const Instruction& self = program_[id];
  const Region& body = self.regions[0];
  std::vector<Elements> carried;
  for (std::size_t i = 1; i < self.operands.size(); ++i) carried.push_back(operand(self, i));
  bool again = operand(self, 0)[0].integer != 0;
  for (Int i = 0; again; ++i) {
    value(body.parameters[0]) = {{0, i}};
    for (std::size_t k = 0; k < carried.size(); ++k) value(body.parameters[k + 1]) = carried[k];
    carried = run(body);
    again = carried.back()[0].integer != 0;
    carried.pop_back();
  }
  results_[static_cast<std::size_t>(id)] = std::move(carried);
}

Interpreter::Elements Interpreter::source(const Instruction& self) const {
  switch (self.word) {
    case Word::Parameter: {
      const runtime::Argument& argument = set_.arguments[self.attribute];
      if (self.type.pointer) return {{0, reinterpret_cast<Int>(argument.pointer)}};
      if (is_float(self.type.dtype)) return {rounded({argument.real, 0}, self.type.dtype)};
      return {rounded({0, self.type.dtype == boolean ? argument.integer != 0 : argument.integer}, self.type.dtype)};
    }
    case Word::ProgramId: return {{0, id_[at(self.attribute)]}};
    case Word::NumPrograms: return {{0, set_.grid[at(self.attribute)]}};
    case Word::Constant: return {rounded({self.real, self.integer}, self.type.dtype)};
    default: {
      Elements out(at(self.type.shape[0]));
      for (std::size_t i = 0; i < out.size(); ++i) out[i].integer = self.attribute + static_cast<Int>(i);
      return out;
    }
  }
}

Interpreter::Elements Interpreter::shape_word(const Instruction& self) {
  const Elements& from = operand(self, 0);
  if (self.word == Word::Reshape || self.word == Word::ExpandDims) return from;
  const Shape& shape = self.type.shape;
  const Shape& source = operand_type(self, 0).shape;
  Strides strides = Dims::filled(shape.rank(), 0);  // in `from`; 0 where an axis grows
  if (self.word == Word::Transpose) {
    strides = {1, source[1]};
  } else {
    const Strides dense = dense_strides(source);
    for (int axis = 0; axis < source.rank(); ++axis) strides[axis] = source[axis] == 1 ? 0 : dense[axis];
  }
  Elements out(at(numel(shape)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Int left = static_cast<Int>(i), place = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      place += left % shape[axis] * strides[axis];
      left /= shape[axis];
    }
    out[i] = from[at(place)];
  }
  return out;
}

Interpreter::Elements Interpreter::elementwise(const Instruction& self) {
  Elements out(at(numel(self.type.shape)));
  const Type& last = operand_type(self, self.operands.size() - 1);
  const Int bytes = self.type.pointer ? static_cast<Int>(size_of(self.type.dtype)) : 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Scalar x[3];
    for (std::size_t k = 0; k < self.operands.size(); ++k) x[k] = pick(operand(self, k), i);
    if (self.type.pointer) out[i].integer = x[0].integer + (self.word == Word::Add ? bytes : -bytes) * x[1].integer;
    else out[i] = evaluate(self.word, last.dtype, self.type.dtype, self.attribute, x);
  }
  return out;
}

Interpreter::Elements Interpreter::memory(const Instruction& self) {
  const Type& pointer = operand_type(self, 0);
  const Elements& places = operand(self, 0);
  const bool load = self.word == Word::Load;
  const std::size_t mask = mask_place(self);
  Elements out(self.word == Word::Store ? 0 : places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool on = self.operands.size() <= mask || pick(operand(self, mask), i).integer;
    if (!on) {
      if (load && self.operands.size() > 2) out[i] = pick(operand(self, 2), i);
      continue;
    }
    const Int address = places[i].integer;
    if (watch_) watch_->touch(self, pointer.dtype, address, static_cast<Int>(i));
    if (load) {
      out[i] = read(pointer.dtype, address);
      continue;
    }
    Scalar stored = pick(operand(self, 1), i);
    if (self.word == Word::Atomic) {
      out[i] = read(pointer.dtype, address);
      stored = changed(self, out[i], stored, i);
    }
    write(pointer.dtype, address, stored);
  }
  return out;
}

/// The value that an atomic word stores in place of `old`.
Scalar Interpreter::changed(const Instruction& self, Scalar old, Scalar given, std::size_t element) {
  const Atomic atomic = Atomic::of(self);
  if (atomic.kind == AtomicKind::Exchange) return given;
  if (atomic.kind == AtomicKind::CompareAndSwap) return old.integer == pick(operand(self, 2), element).integer ? given : old;
  const Scalar both[2]{old, given};
  return evaluate(word_of(atomic.kind), self.type.dtype, self.type.dtype, 0, both);
}

Interpreter::Elements Interpreter::across(const Instruction& self) {
  const Type& type = operand_type(self, 0);
  const Elements& from = operand(self, 0);
  const DType dtype = type.dtype;
  const auto is_nan = [&](Scalar x) { return is_float(dtype) && std::isnan(x.real); };
  Elements out(at(numel(self.type.shape)));
  for_lines(type, static_cast<int>(self.attribute), [&](const std::vector<std::size_t>& line, std::size_t number) {
    if (self.word == Word::Reduce || self.word == Word::Scan) {
      Scalar total = from[line[0]];
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (i > 0) total = combine(self.kind, dtype, total, from[line[i]]);
        if (self.word == Word::Scan) out[line[i]] = total;
      }
      if (self.word == Word::Reduce) out[number] = total;
      return;
    }
    if (self.word == Word::ArgReduce) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < line.size() && !is_nan(from[line[best]]); ++i) {
        const Scalar x = from[line[i]], y = from[line[best]];
        if (is_nan(x) || (self.kind == Reduction::Min ? comes_before(x, y, dtype) : comes_before(y, x, dtype))) best = i;
      }
      out[number].integer = static_cast<Int>(best);
      return;
    }
    std::vector<std::size_t> order(line.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Scalar x = from[line[a]], y = from[line[b]];
      if (comes_before(x, y, dtype)) return self.attribute2 % 2 == 0;
      if (comes_before(y, x, dtype)) return self.attribute2 % 2 == 1;
      return a < b;
    });
    for (std::size_t i = 0; i < line.size(); ++i) {
      out[line[i]] = self.word == Word::Sort ? from[line[order[i]]] : Scalar{0, static_cast<Int>(order[i])};
    }
  });
  return out;
}

Interpreter::Elements Interpreter::picked(const Instruction& self) {
  const Elements& from = operand(self, 0);
  Elements out(at(numel(self.type.shape)));
  if (self.word == Word::Histogram) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Int bin = from[i].integer;
      if ((self.operands.size() < 2 || operand(self, 1)[i].integer) && bin >= 0 && bin < self.type.shape[0]) ++out[at(bin)].integer;
    }
    return out;
  }
  const Elements& places = operand(self, 1);
  const int axis = static_cast<int>(self.attribute);
  const Shape& shape = operand_type(self, 0).shape;
  const Int stride = dense_strides(shape)[axis], length = shape[axis], count = self.type.shape[axis];
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Int line = static_cast<Int>(i) / (count * stride) * (length * stride) + static_cast<Int>(i) % stride, place = places[i].integer;
    if (place >= 0 && place < length) out[i] = from[at(line + place * stride)];
  }
  return out;
}

Interpreter::Elements Interpreter::assembly(const Instruction& self) {
  const Text& text = program_.texts[at(self.attribute)];
  if (!text.fallback) {
    throw Error({.op = "inline_asm_elementwise",
                 .got = "the PTX \"" + text.text + "\" without a GPU",
                 .expected = "a fallback that gives the same",
                 .where = self.where});
  }
  Elements out(at(numel(self.type.shape)));
  std::vector<Text::Element> given(self.operands.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t k = 0; k < given.size(); ++k) {
      const Scalar x = pick(operand(self, k), i);
      given[k] = {x.real, x.integer};
    }
    const Text::Element result = text.fallback(given);
    out[i] = rounded({result.real, result.integer}, self.type.dtype);
  }
  return out;
}

Interpreter::Elements Interpreter::dot(const Instruction& self) {
  const Elements &a = operand(self, 0), &b = operand(self, 1);
  const DType dtype = self.type.dtype;
  const Int columns = self.type.shape.back(), inner = operand_type(self, 0).shape.back();
  const Int rows = self.type.shape[self.type.shape.rank() - 2];
  Elements out = operand(self, 2);
  for (Int row = 0; row < static_cast<Int>(out.size()) / columns; ++row) {
    for (Int j = 0; j < columns; ++j) {
      Scalar& sum = out[at(row * columns + j)];
      for (Int k = 0; k < inner; ++k) {
        const Scalar x[3]{a[at(row * inner + k)], b[at((row / rows * inner + k) * columns + j)], sum};
        if (is_float(dtype)) {
          sum = evaluate(Word::Fma, dtype, dtype, 0, x);
        } else {
          const Scalar terms[2]{evaluate(Word::Mul, dtype, dtype, 0, x), sum};
          sum = evaluate(Word::Add, dtype, dtype, 0, terms);
        }
      }
    }
  }
  return out;
}

Interpreter::Elements Interpreter::rest(const Instruction& self) {
  if (self.word == Word::Gather || self.word == Word::Histogram) return picked(self);
  if (self.word == Word::InlineAsm) return assembly(self);
  if (self.word == Word::Assume || self.word == Word::Print || self.word == Word::Barrier) return {};
  const Elements &a = operand(self, 0), &b = operand(self, 1);
  if (self.word == Word::Dot) { return dot(self); }
  if (self.word == Word::RandomBits) {
    Elements out(b.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto bits = philox_word(static_cast<std::uint64_t>(a[0].integer), static_cast<std::uint64_t>(b[i].integer));
      out[i].integer = static_cast<std::int32_t>(bits);
    }
    return out;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {  // Assert
    if (!a[i].integer && failure_->id < 0) failure_->id = self.attribute, failure_->value = pick(b, i).integer;
  }
  return {};
}

void interpret(const Program& program, const runtime::ArgumentSet& set, runtime::Failure* failure) {
  runtime::Failure local;
  if (failure == nullptr) failure = &local;
  for (Int z = 0; z < set.grid[2]; ++z) {
    for (Int y = 0; y < set.grid[1]; ++y) {
      for (Int x = 0; x < set.grid[0]; ++x) Interpreter(program, set, {x, y, z}, failure).catch_up();
    }
  }
  if (local.id >= 0) {
    throw Error({.op = "interpreter",
                 .got = "a failed assert, id " + std::to_string(local.id) + ", value " + std::to_string(local.value),
                 .expected = "a Failure to report it to"});
  }
}

}  // namespace tegula::tile
