#include "tegula/simt/passes/fetch_ahead.h"

#include <algorithm>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/ahead_loop.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

bool names(const Expression& e, Name name) {
  return (e.kind == Kind::Name || e.kind == Kind::Held || e.kind == Kind::Element) && e.name == name;
}

/// The innermost statement that loads the value; nothing where the statement loads something else.
Statement* load_of(Statement& statement, Name value) {
  if (auto* load = statement.as<LoadWide>()) return names(load->target, value) ? &statement : nullptr;
  if (auto* assign = statement.as<Assign>()) return names(assign->target, value) ? &statement : nullptr;
  Statement* found = nullptr;
  if (statement.as<Loop>())
    for_each_block(statement, [&](Block& inner) {
      for (Statement& one : inner)
        if (Statement* const here = load_of(one, value); here && !found) found = here;
    });
  return found;
}
/// The pointer, as it is, of what may be said to be read only, or to stay in a cache.
const Expression& plain(const Expression& pointer) {
  const bool is_said = pointer.kind == Kind::Call && (pointer.name == "steady" || pointer.name == "steady<true>" ||
                                                      pointer.name == "lasting" || pointer.name == "passing");
  return is_said ? plain(pointer.operands[0]) : pointer;
}

class Fetcher : AheadLoop {
 public:
  Fetcher(const Kernel& kernel, For loop) : AheadLoop(std::move(loop)), ring_(*loop_.program->fetches), threads_(kernel.threads()) {
    find_addresses(ring_.addresses);
  }

  /// Adds the statements in place of the loop.
  void put(Block& out) {
    out.push_back(UseRing{ring_.layout});
    for (const Ring::Fetched& one : ring_.loads) touch(one.pointer, out);
    Block block;
    block.push_back(OpenRing{});
    begin(block);
    Block body;
    const int closed = two_ways() ? 2 : 1, unfinished = closed * ring_.ahead - 1 + (ring_.waits_first ? 0 : 1);
    if (ring_.waits_first) body.push_back(WaitForCopies{unfinished});
    continue_(body);
    if (!ring_.waits_first) body.push_back(WaitForCopies{unfinished});
    for (const Ring::Fetched& one : ring_.loads) read_from_ring(one);
    close(std::move(body), ring_.stages);
    loop_.program->ring = ring_.layout;
    loop_.program->fetches = {};
    block.push_back(std::move(loop_));
    out.push_back(Scope{std::move(block)});
  }

 private:
  bool two_ways() const { return std::ranges::any_of(ring_.loads, &Ring::Fetched::further); }

  // ---- Copies.
  /// The place in shared memory of the thread's own vector.
  Expression place(const Ring::Fetched& one, Expression stage) const {
    const auto rows = one.column_steps > 0 ? group(Expression("r") * one.column_steps + "c") : Expression(one.rows ? "r" : "c");
    return Expression("ring") + std::move(stage) * ring_.stage_bytes + one.place + group(rows * threads_ + thread_index()) * one.bytes;
  }
  /// The load's statement as a copy into the stage.
  Statement copy(const Ring::Fetched& one, const Expression& stage) {
    for (Statement& statement : loop_.body) {
      if (!load_of(statement, one.value)) continue;
      Statement result = statement;
      Statement& load = *load_of(result, one.value);
      CopyAhead copy{.wide = 1, .count = 1, .place = place(one, stage), .source = {}, .inside = 1};
      if (const auto* wide = load.as<LoadWide>()) {
        copy.wide = wide->wide, copy.count = wide->count, copy.source = plain(wide->pointer);
        copy.inside = wide->limited ? wide->limited->limit : Expression(wide->count);
      } else {
        const Expression& value = load.as<Assign>()->value;
        const bool limited = value.kind == Kind::Choose;
        copy.source = (limited ? value.operands[1] : value).operands[0].operands[0];
        if (limited) copy.inside = choose(value.operands[0], 1, 0);
      }
      load = std::move(copy);
      return result;
    }
    return Note{"nothing to fetch"};
  }
  void read_from_ring(const Ring::Fetched& one) {
    Type pointer = pointer_to(stored(one.dtype));
    pointer.constant = true;
    for (Statement& statement : loop_.body) {
      Statement* const load = load_of(statement, one.value);
      if (!load) continue;
      Expression from = reinterpret(pointer, place(one, "stage"));
      if (auto* wide = load->as<LoadWide>()) {
        wide->pointer = std::move(from);
        wide->wide = std::min(wide->count, static_cast<int>(16 / size_of(one.dtype)));
        wide->limited.reset();
      } else {
        load->as<Assign>()->value = simt::load(std::move(from));
      }
      return;
    }
  }
  /// Starts the copies for the iteration `counter`, into `stage`.
  void fetch(Block& out, bool further, Name counter, const Expression& stage) {
    Branch branch{.when = Expression(counter) < loop_.end};
    branch.then.push_back(Declare{.what = {loop_.name, loop_.type, {}}, .value = counter, .constant = true});  // in place of the loop's own
    branch.then.insert(branch.then.end(), addresses_.begin(), addresses_.end());
    for (const Ring::Fetched& one : ring_.loads)
      if (one.further == further) branch.then.push_back(copy(one, stage));
    out.push_back(std::move(branch));
    out.push_back(CloseCopies{});
  }
  /// The copies that begin before the loop.
  void begin(Block& out) {
    const bool further = two_ways();
    out.push_back(
        Note{"Fetched " + std::to_string(ring_.ahead) + (further ? " or " + std::to_string(ring_.ahead + 1) : "") + " iterations ahead."});
    out.push_back(Declare{.what = {"stage", computed(DType::i32), {}}, .value = 0});
    if (further) {  // the first of them, before all others
      Block block{let("later", loop_.begin)};
      fetch(block, true, "later", 0);
      out.push_back(Scope{std::move(block)});
    }
    Block block{let("later", loop_.begin + Expression("s") * loop_.step)};
    fetch(block, false, "later", "s");
    if (further) {
      block.push_back(let("after", Expression("later") + loop_.step));
      fetch(block, true, "after", group(Expression("s") + 1));
    }
    out.push_back(Loop{.name = "s", .end = ring_.ahead, .unroll = 1, .body = std::move(block)});
  }
  /// Adds the copies that begin beside an iteration. Copies of one iteration are closed in the order in which they are needed.
  void continue_(Block& out) {
    for (const bool further : {false, true}) {
      if (further && !two_ways()) continue;
      const int ahead = ring_.ahead + (further ? 1 : 0), behind = ring_.stages - ahead;
      Block block{let("later", Expression(loop_.name) + Expression(ahead) * loop_.step)};
      const Expression stage = "stage";
      fetch(block, further, "later", group(choose(stage < behind, stage + ahead, stage - behind)));
      out.push_back(Scope{std::move(block)});
    }
  }

  const Ring ring_;
  std::int64_t threads_;
};

bool fetches(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& statement) {
    const auto* const loop = statement.as<For>();
    found = found || (loop && loop->program && loop->program->fetches);
  });
  return found;
}

void walk(const Kernel& kernel, Block& block) {
  if (!fetches(block)) return;
  Block out;
  out.reserve(block.size());
  for (Statement& statement : block) {
    auto* const loop = statement.as<For>();
    if (loop && loop->program && loop->program->fetches) {
      Fetcher(kernel, std::move(*loop)).put(out);
      continue;
    }
    for_each_block(statement, [&](Block& inner) { walk(kernel, inner); });
    out.push_back(std::move(statement));
  }
  block = std::move(out);
}

}  // namespace

void fetch_ahead(Kernel& kernel) { walk(kernel, kernel.body); }

}  // namespace tegula::simt
