#include "tegula/tile/language/control.h"

#include "tegula/core/error.h"

namespace tegula::tile {
namespace {

/// A bound of a loop: an integer scalar.
Value bound(const TileArg& x) { return cast(x.is_number() ? x.as(i64).value : x.content.value, i64); }

}  // namespace

Range::Range(TileArg begin, TileArg end, TileArg step, const Line& where) : trace_(language::Trace::current(where)), where_(where) {
  for (const TileArg* const x : {&begin, &end, &step}) {
    const bool scalar = x->is_number()
                            ? x->whole && !x->is_bool
                            : x->content.value.shape().empty() && !x->content.value.type().pointer && is_integer(x->content.dtype);
    if (scalar) continue;
    throw Error({.op = "range",
                 .got = x->is_number() ? "a number that is not whole" : "a bound of type " + to_string(x->content.value.type()),
                 .expected = "integer scalars",
                 .where = where});
  }
  begin_ = bound(begin), end_ = bound(end), step_ = bound(step);
}

void Range::enter() {
  if (language::Machine* const machine = trace_.machine()) {
    at_ = machine->integer(begin_), last_ = machine->integer(end_), by_ = machine->integer(step_);
    if (by_ < 1) throw Error({.op = "range", .got = "a step of " + std::to_string(by_), .expected = "at least 1", .where = where_});
    more_ = at_ < last_;
    if (more_) counter_ = trace_.builder(where_).constant(at_, i64);
    return;
  }
  counter_ = trace_.open_loop(where_);
  more_ = open_ = true;
}

void Range::leave() {
  if (trace_.machine()) {
    at_ += by_;
    more_ = at_ < last_;
    if (more_) counter_ = trace_.builder(where_).constant(at_, i64);
    return;
  }
  trace_.builder(where_);  // a loop within that was left is seen here
  open_ = more_ = false;
  trace_.close_loop(begin_, end_, step_);
}

void if_(TileArg condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  language::Trace& trace = language::Trace::current(condition.where);
  condition.builder();
  const language::Content content = condition.is_number() ? condition.as(boolean) : condition.content;
  if (content.value.type() != Type{boolean, false, {}}) {
    throw Error({.op = "if_",
                 .got = "a condition of type " + to_string(content.value.type()),
                 .expected = "a bool scalar",
                 .advice = "where(condition, a, b) chooses element by element",
                 .where = condition.where});
  }
  if (language::Machine* const machine = trace.machine()) return machine->integer(content.value) ? then() : otherwise();
  trace.branch(content.value, then, otherwise, condition.where);
}

void while_(const std::function<Tile()>& condition, const std::function<void()>& body, std::int64_t at_most, Line where) {
  if (language::Machine* const machine = language::Trace::current(where).machine()) {
    const auto holds = [&] {
      const Tile now = condition();
      return machine->integer(now.get(where).value) != 0;
    };
    std::int64_t times = 0;
    while (times < at_most && holds()) body(), ++times;
  } else {
    for ([[maybe_unused]] auto time : Range(0, at_most, 1, where)) if_(TileArg(condition(), where), body);
  }
  device_assert(TileArg(!condition(), where), "while_ ends after " + std::to_string(at_most) + " times at most");
}

}  // namespace tegula::tile
