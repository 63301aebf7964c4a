#include "tegula/tile/language/trace.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "tegula/core/error.h"
#include "tegula/tile/language/repeat.h"

namespace tegula::tile::language {
namespace {

Trace*& current_trace() {
  thread_local Trace* current = nullptr;
  return current;
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// A value that nothing is known about.
Value placeholder(Builder& b, const Type& type) {
  if (!type.pointer) return b.load(broadcast(b.pointer("p", type.dtype, false), type.shape));
  return b.pointer("p", type.dtype, true) + b.load(broadcast(b.pointer("o", i64, false), type.shape));
}

std::string type_text(const Content& content) {
  Type type = content.value.type();
  type.dtype = content.dtype;
  return to_string(type);
}

}  // namespace

Trace::Trace(Builder& builder, Machine* machine, Lines lines)
    : machine_(machine),
      lines_(lines),
      before_(current_trace()),
      serial_(next_serial()) {
  levels_.push_back({.builder = &builder});
  current_trace() = this;
}
Trace::~Trace() { current_trace() = before_; }

Trace& Trace::current(const Line& where) {
  if (Trace* const trace = current_trace()) return *trace;
  throw Error({.op = "tile",
               .got = "a tile word outside of a kernel",
               .expected = "to be in a function that tile::jit runs",
               .advice = "start it with tile::jit(\"name\", lambda)(grid, arguments…)",
               .where = where});
}

Trace* Trace::find(std::uint64_t serial) {
  Trace* const trace = current_trace();
  return trace && trace->serial_ == serial ? trace : nullptr;
}

Line Trace::said_at(const Line& where) {
  const Trace* const trace = current_trace();
  return trace && trace->outer_.known() ? trace->outer_ : where;
}

Builder& Trace::builder(const Line& where) {
  if (broken_at_.known()) {
    throw Error({.op = "range",
                 .got = "a loop that was left by break or return",
                 .expected = "loops that run to their end",
                 .advice = "a tile cannot stop a recorded loop: use if_, while_ or a mask",
                 .where = broken_at_});
  }
  locate(*levels_.back().builder, said_at(where));
  return *levels_.back().builder;
}

void Trace::break_off(const Line& where) {
  if (!broken_at_.known()) broken_at_ = where;
}

int Trace::make_slot(const Line& where) {
  if (!free_slots_.empty()) {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[index(slot)] = {.declared = where};
    return slot;
  }
  slots_.push_back({.declared = where, .born = depth()});
  return static_cast<int>(slots_.size()) - 1;
}

void Trace::drop_slot(int slot) {
  Slot& self = slots_[index(slot)];
  self.alive = false;
  if (!machine_) return;
  for (const auto& [level, content] : self.at) machine_->release(content.value);
  free_slots_.push_back(slot);
}

Content Trace::read(int slot, const Line& where) {
  const Slot& self = slots_[index(slot)];
  if (self.at.empty()) {
    throw Error({.op = "tile",
                 .got = self.lost ? "a tile that only the loop or branch at line " + std::to_string(self.lost) + " gives a value"
                                  : "a tile without a value",
                 .expected = "a value on every way to here",
                 .advice = "give it one at its declaration, line " + std::to_string(self.declared.line()),
                 .where = where});
  }
  return content_at(slot, depth());
}

const View* Trace::assign(int slot, Content content, const Line& where) {
  Slot& self = slots_[index(slot)];
  if (depth() > 0 && !self.at.empty() && self.born < depth()) {  // it may be carried: it keeps its type
    const Content& first = self.at.front().second;
    const Type type = first.value.type();
    Value& value = content.value;
    if (value.shape().empty() && !type.shape.empty() && content.dtype == first.dtype && value.type().pointer == type.pointer)
      value = broadcast(value, type.shape);
    if (value.type() != type || content.dtype != first.dtype) {
      throw Error({.op = "tile",
                   .got = type_text(content) + " for a tile that was " + type_text(first) + " before the loop or branch",
                   .expected = "one type in and out",
                   .advice = "it is declared at line " + std::to_string(self.declared.line()) + ": begin with that type, or cast",
                   .where = where});
    }
  }
  const View* view = nullptr;
  if (machine_) {
    machine_->catch_up();
    view = machine_->hold(content);
    if (!self.at.empty()) machine_->release(self.at.back().second.value);
  }
  if (!self.at.empty() && self.at.back().first == depth()) self.at.back().second = content;
  else self.at.emplace_back(depth(), content);
  levels_.back().assigned.insert(slot);
  return view;
}

Content Trace::content_at(int slot, int level) {
  auto& at = slots_[index(slot)].at;
  if (at.back().first == level) return at.back().second;
  const Content outer = at.back().first < level - 1 ? content_at(slot, level - 1) : at.back().second;
  Level& self = levels_[static_cast<std::size_t>(level)];
  const Content inner{placeholder(*self.builder, outer.value.type()), outer.dtype};
  self.reads[slot] = inner.value;
  at.emplace_back(level, inner);
  return inner;
}

void Trace::open(const Line& where) {
  Level level{.own = std::make_unique<Builder>("level"), .where = where};
  level.builder = level.own.get();
  locate(*level.builder, where);
  if (lines_ == Lines::Said) level.builder->locate_each_access();
  levels_.push_back(std::move(level));
}

Trace::Closed Trace::close() {
  const int level = depth();
  Closed closed{std::move(levels_.back()), {}};
  levels_.pop_back();
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    Slot& slot = slots_[s];
    if (slot.at.empty() || slot.at.back().first != level) continue;
    const int number = static_cast<int>(s);
    if (slot.alive && slot.born < level && closed.level.assigned.contains(number)) closed.last[number] = slot.at.back().second;
    slot.at.pop_back();
  }
  return closed;
}

std::map<int, Value> Trace::values_outside(const Level& level) {
  std::map<int, Value> outside;
  for (const auto& [slot, inner] : level.reads) outside[slot] = content_at(slot, depth()).value;
  return outside;
}

Value Trace::open_loop(const Line& where) {
  open(where);
  return levels_.back().counter = placeholder(*levels_.back().builder, {i64, false, {}});
}

void Trace::close_loop(Value begin, Value end, Value step, std::int64_t hints) {
  say_loop(close(), [&](const std::vector<Value>& initial, const SayBody& body, const std::vector<Id>& next) {
    return levels_.back().builder->for_(
        begin, end, step, initial,
        [&](Value counter, std::span<const Value> now) {
          const std::map<Id, Value> known = body(counter, now);
          std::vector<Value> values;
          for (const Id id : next) values.push_back(known.at(id));
          return values;
        },
        hints);
  });
}

void Trace::close_while(const Content& first, const Content& again) {
  say_loop(close(), [&](const std::vector<Value>& initial, const SayBody& body, const std::vector<Id>& next) {
    return levels_.back().builder->while_(first.value, initial, [&](std::span<const Value> now) {
      const std::map<Id, Value> known = body({}, now);
      Builder::Next result{known.at(again.value.id()), {}};
      for (const Id id : next) result.carried.push_back(known.at(id));
      return result;
    });
  });
}

void Trace::say_loop(const Closed& body, const SayLoop& say) {
  Builder& b = builder(body.level.where);
  std::vector<int> carried;
  std::vector<Id> next;
  for (const auto& [slot, content] : body.last) {
    if (has_value(slot)) carried.push_back(slot), next.push_back(content.value.id());
    else slots_[index(slot)].lost = body.level.where.line();
  }
  const std::map<int, Value> outside = values_outside(body.level);
  std::vector<Value> initial;
  for (const int slot : carried) initial.push_back(content_at(slot, depth()).value);
  const SayBody again = [&](Value counter, std::span<const Value> now) {
    std::map<Id, Value> known;
    if (!counter.is_empty()) known[body.level.counter.id()] = counter;
    for (const auto& [slot, inner] : body.level.reads) {
      const auto k = std::ranges::find(carried, slot);
      known[inner.id()] = k != carried.end() ? now[static_cast<std::size_t>(k - carried.begin())] : outside.at(slot);
    }
    repeat(*body.level.builder, body.level.builder->program().body, b, known);
    return known;
  };
  const auto results = say(initial, again, next);
  locate(b, body.level.where);
  for (std::size_t k = 0; k < carried.size(); ++k) assign(carried[k], {results[k], body.last.at(carried[k]).dtype}, body.level.where);
}

void Trace::branch(Value condition, const std::function<void()>& then, const std::function<void()>& otherwise, const Line& where) {
  const auto record = [&](const std::function<void()>& side) {
    open(where);
    side();
    builder(where);  // a loop that was left is seen here
    return close();
  };
  const Closed sides[2]{record(then), record(otherwise)};
  Builder& b = builder(where);
  std::map<int, DType> changed;
  for (const Closed& side : sides) {
    for (const auto& [slot, content] : side.last) {
      if (const auto other = changed.find(slot); other != changed.end() && other->second != content.dtype) {
        throw Error(
            {.op = "if_",
             .got = "branches that give " + std::string(name(other->second)) + " and " + std::string(name(content.dtype)) + " to one tile",
             .expected = "one type",
             .advice = "it is declared at line " + std::to_string(slots_[index(slot)].declared.line()) + ": cast in one of them",
             .where = where});
      }
      if (has_value(slot) || (sides[0].last.contains(slot) && sides[1].last.contains(slot))) changed[slot] = content.dtype;
      else slots_[index(slot)].lost = where.line();
    }
  }
  std::map<int, Value> before, outside;
  for (const Closed& side : sides) outside.merge(values_outside(side.level));
  for (const auto& [slot, dtype] : changed)
    if (has_value(slot)) before[slot] = content_at(slot, depth()).value;
  const auto said_again = [&](const Closed& side) {
    std::map<Id, Value> known;
    for (const auto& [slot, inner] : side.level.reads) known[inner.id()] = outside.at(slot);
    repeat(*side.level.builder, side.level.builder->program().body, b, known);
    std::vector<Value> results;
    for (const auto& [slot, dtype] : changed)
      results.push_back(side.last.contains(slot) ? known.at(side.last.at(slot).value.id()) : before.at(slot));
    return results;
  };
  const auto results = b.if_(condition, [&] { return said_again(sides[0]); }, [&] { return said_again(sides[1]); });
  locate(b, where);
  std::size_t k = 0;
  for (const auto& [slot, dtype] : changed) assign(slot, {results[k++], dtype}, where);
}

}  // namespace tegula::tile::language
