#include "tegula/tile/language/control.h"

#include "tegula/core/error.h"

namespace tegula::tile {
namespace {

/// A bound of a loop: an integer scalar.
Value bound(const TileArg& x) { return cast(x.is_number() ? x.as(i64).value : x.content.value, i64); }

/// Bits 0 to 7: stages, 8 to 15: how often it is unrolled, 16 to 23: flags, 24 to 31: warps, 32 to 39: blocks.
std::int64_t packed(const RangeHints& hints, const language::KernelHints& of_kernel) {
  const int flags = (hints.disallow_acc_multi_buffer ? 1 : 0) | (hints.flatten ? 2 : 0) | (hints.warp_specialize.value_or(false) ? 4 : 0) |
                    (hints.disable_licm ? 8 : 0) | (hints.warp_specialize ? 16 : 0);
  const int stages = hints.num_stages > 0 ? hints.num_stages : of_kernel.num_stages,
            warps = hints.num_warps > 0 ? hints.num_warps : of_kernel.num_warps;
  return static_cast<std::int64_t>(stages & 255) | static_cast<std::int64_t>(hints.loop_unroll_factor & 255) << 8 |
         static_cast<std::int64_t>(flags) << 16 | static_cast<std::int64_t>(warps & 255) << 24 |
         static_cast<std::int64_t>(hints.num_ctas) << 32;
}

}  // namespace

Range::Range(TileArg begin, TileArg end, TileArg step, const Line& where, const RangeHints& hints)
    : trace_(language::Trace::current(where)),
      where_(where),
      hints_(packed(hints, trace_.hints())) {
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
  if (!step.is_number() || step.integer > 0) return;
  if (step.integer == 0)
    throw Error({.op = "range", .got = "a step of 0", .expected = "at least 1, or below 0 to count down", .where = where});
  down_by_ = -step.integer;
  down_from_.push_back(language::said({begin_, i64}, where));
  end_ = (begin_ - end_ + (down_by_ - 1)) / down_by_;
  begin_ = trace_.builder(where).constant(std::int64_t{0}, i64), step_ = trace_.builder(where).constant(std::int64_t{1}, i64);
}

Tile Range::at() const {
  const Tile k = language::said({counter_, i64}, where_);
  if (down_from_.empty()) return k;
  const language::Within line(where_);
  return down_from_[0] - k * down_by_;
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
  trace_.close_loop(begin_, end_, step_, hints_);
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

void while_(const std::function<Tile()>& condition, const std::function<void()>& body, Line where) {
  language::Trace& trace = language::Trace::current(where);
  const auto checked = [&](const Tile& holds) {
    const language::Content content = holds.get(where);
    if (content.value.type() == Type{boolean, false, {}}) return content;
    throw Error({.op = "while_",
                 .got = "a condition of type " + to_string(content.value.type()),
                 .expected = "a bool scalar",
                 .advice = "max(x, 0) > 0 asks whether one of a tile holds",
                 .where = where});
  };
  if (language::Machine* const machine = trace.machine()) {
    for (;;) {
      const Tile holds = condition();  // whose value stays until it has been looked at
      if (machine->integer(checked(holds).value) == 0) return;
      body();
    }
  }
  const language::Content first = checked(condition());
  trace.open_loop(where);
  body();
  trace.builder(where);  // a loop within that was left is seen here
  const language::Content again = checked(condition());
  trace.close_while(first, again);
}

void while_(const std::function<Tile()>& condition, const std::function<void()>& body, std::int64_t at_most, Line where) {
  Tile times(0, where);
  Tile holds = condition();
  while_([&] { return TileArg(holds, where) && TileArg(times, where) < TileArg(at_most, where); },
         [&] {
           body();
           times += TileArg(1, where);
           holds = TileArg(condition(), where);
         },
         where);
  device_assert(TileArg(!holds, where), "while_ ends after " + std::to_string(at_most) + " times at most");
}

}  // namespace tegula::tile
