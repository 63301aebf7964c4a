#include "tegula/compile/plan/check_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tegula/compile/plan/check_contents.h"
#include "tegula/compile/plan/overlap.h"
#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/compile/plan/program_access.h"
#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

using Kind = Reference::Kind;
using Space = Storage::Kind;

/// The memory that one argument of a step touches. `holder` is an item, or a scratch buffer (numbered after all items).
struct Touch {
  Span span;
  int holder = -1;
  bool writes = false, needs = false;
  int set = 0, argument = 0;
  bool copies = false;  // into a Variable what lies elsewhere too
  int step = -1;
};

class Checker {
 public:
  Checker(const Plan& plan, bool asynchronous)
      : plan_(plan),
        graph_(plan.graph),
        asynchronous_(asynchronous),
        places_(places(graph_)),
        contents_(plan, places_) {}

  void run() {
    check_joins(graph_, places_);
    check_storage();
    check_places(graph_, places_, plan_.fusion);
    note_touches();
    writers_.assign(graph_.items.size() + plan_.scratch_bytes.size(), 0);
    for (const auto& touches : touches_) {
      for (const Touch& t : touches) {
        if (t.writes && !t.copies) contents_.each_around(t.holder, [&](int holder) { ++writers_[at(holder)]; });
      }
    }
    for (step_ = 0; step_ < count(); ++step_) walk(touches_[at(step_)]);
    step_ = -1;
    finish();
  }

  void check_order(const std::vector<std::vector<int>>& after) {
    if (touches_.empty()) note_touches();
    const std::vector<std::vector<bool>> before = closure(after);
    const auto ordered = [&](int early, int late) { return before[at(late)][at(early)]; };
    std::vector<const Touch*> all;
    for (const auto& touches : touches_)
      for (const Touch& t : touches) all.push_back(&t);
    each_meeting(std::move(all), [&](const Touch& a, const Touch& b) {
      const auto [early, late] = std::minmax(a.step, b.step);
      if (early == late || ordered(early, late)) return;
      step_ = late;
      fail(b.holder, "touches " + text(b.span) + " as step " + std::to_string(early + 1) + " does", "to wait for it");
    });
    for (int late = 0; late < count(); ++late) {
      if (!plan_.steps[at(late)].guarded) continue;
      for (int early = 0; early < late; ++early) {
        step_ = late;
        if (plan_.steps[at(early)].checks && !ordered(early, late))
          fail(-1, "is guarded", "to wait for the checks of step " + std::to_string(early + 1));
      }
    }
    step_ = -1;
    check_recording(after);
  }

 private:
  template <class T>
  static std::size_t at(T i) {
    return static_cast<std::size_t>(i);
  }
  int count() const { return static_cast<int>(plan_.steps.size()); }
  const Step& step() const { return plan_.steps[at(step_)]; }
  const Item& item(int i) const { return graph_[i]; }

  // ---- Errors.
  std::string text(int holder) const {
    if (holder < 0) return "nothing";
    if (holder < graph_.size()) return "%" + std::to_string(holder) + " (" + std::string(item(holder).op->name()) + ")";
    return "scratch " + std::to_string(holder - graph_.size());
  }
  static std::string text(const Span& span) {
    switch (span.space) {
      case Space::Arena: return "bytes " + std::to_string(span.begin) + " to " + std::to_string(span.end) + " of the arena";
      case Space::Leaf: return "leaf " + std::to_string(span.index);
      case Space::Output: return "result " + std::to_string(span.index);
      default: return "no place";
    }
  }
  [[noreturn]] void fail(int holder, const std::string& does, const std::string& expected) const {
    const std::string who = step_ >= 0 ? "step " + std::to_string(step_ + 1) + " (" + step().name + ")" : "the plan";
    throw Error({.op = "check_plan",
                 .got = who + (holder >= 0 ? ", " + text(holder) + ": " : " ") + does,
                 .expected = expected,
                 .advice = "this is a bug in Tegula: please report it with what TEGULA_PRINT=plan,tile shows",
                 .where = holder >= 0 && holder < graph_.size() ? item(holder).origin.where : Line{}});
  }

  // ---- Places.
  const Place& place(int i) const { return places_[at(i)]; }
  /// The byte of its value at which an item begins.
  std::int64_t first_byte(int i) const { return place(i).layout.offset * static_cast<std::int64_t>(size_of(item(place(i).value).dtype)); }
  Span span_of(int i) const {
    const Spot& spot = place(i).spot;
    const Storage& storage = plan_.storage[at(spot.root)];
    Span span{storage.kind, storage.index, 0, 1, spot.root, spot.first, std::max(spot.last, spot.first + 1)};
    if (storage.kind == Space::Update) span.space = Space::Leaf, span.index = graph_.updates[at(storage.index)].leaf;
    if (storage.kind == Space::Arena) span.begin = storage.offset, span.end = storage.offset + bytes_of(item(spot.root));
    return span;
  }
  Span span_of_scratch(int s) const {
    const std::size_t begin = plan_.scratch_offsets[at(s)];
    return {Space::Arena, 0, begin, begin + std::max<std::size_t>(plan_.scratch_bytes[at(s)], 1), graph_.size() + s};
  }
  void check_storage() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (item(i).shows_input()) continue;
      const Storage& storage = plan_.storage[at(i)];
      if (storage.kind == Space::Leaf && (item(i).role() != Role::Leaf || storage.index != item(i).slot))
        fail(i, "lies in leaf " + std::to_string(storage.index), "its own place");
      if (storage.kind == Space::Arena && (span_of(i).end > plan_.arena_bytes || storage.offset % size_of(item(i).dtype) != 0))
        fail(i, "lies at " + text(span_of(i)), "an aligned place within its " + std::to_string(plan_.arena_bytes) + " bytes");
      const Spot& spot = place(i).spot;
      const Storage& root = plan_.storage[at(spot.root)];
      const std::size_t offset = root.offset + at(spot.offset) * size_of(item(i).dtype);
      if (spot.root != i && (storage.kind != root.kind || storage.index != root.index || storage.offset != offset))
        fail(i, "lies at byte " + std::to_string(storage.offset),
             "its place in " + text(spot.root) + ", from byte " + std::to_string(offset) + " on");
      if (spot.root == i && storage.offset != 0 && (storage.kind == Space::Output || storage.kind == Space::Update))
        fail(i, "lies from byte " + std::to_string(storage.offset) + " on", "to begin where a result or Variable does");
      const auto is = [&](int value) { return spot.bottom == place(value).spot.bottom; };  // or written over, or over it
      if (storage.kind == Space::Update && !is(graph_.updates[at(storage.index)].item))
        fail(i, "lies in a Variable", "that Variable's new value");
      if (storage.kind == Space::Output && !is(graph_.outputs[at(storage.index)])) fail(i, "lies in a result", "that result");
    }
    for (int s = 0; s < static_cast<int>(plan_.scratch_bytes.size()); ++s) {
      if (span_of_scratch(s).end > std::max<std::size_t>(plan_.arena_bytes, 1))
        fail(graph_.size() + s, "lies at " + text(span_of_scratch(s)), "a place in the arena");
    }
  }

  // ---- What a step touches.
  void note_touches() {
    note_offsets();
    for (step_ = 0; step_ < count(); ++step_) touches_.push_back(touched(step()));
    step_ = -1;
  }

  // Collects, per value, the offsets of the views through which items read it.
  void note_offsets() {
    for (const auto& update : graph_.updates) offsets_.insert({update.item, 0});  // which a step may copy
    for (const Item& reader : graph_.items) {
      if (reader.shows_input() || reader.is_part()) continue;
      for (const int input : reader.inputs) {
        if (item(place(input).value).role() == Role::Index) continue;  // lies nowhere, and its offset may be any number
        offsets_.insert({place(input).value, first_byte(input)});
      }
    }
  }

  Touch touch(const Reference& reference, bool writes, int set, int argument) {
    Touch t{{}, -1, writes, !writes, set, argument, reference.kind == Kind::Update, step_};
    if (reference.kind == Kind::Scratch) {
      t.span = span_of_scratch(reference.index);
      t.holder = graph_.size() + reference.index;
      return t;
    }
    if (reference.kind == Kind::Update) {
      t.holder = graph_.updates[at(reference.index)].item;
      t.span = {Space::Leaf, graph_.updates[at(reference.index)].leaf, 0, 1, t.holder};
      if (!writes) fail(t.holder, "is read through the Variable that it is written to", "to be read where it is");
      return t;
    }
    t.holder = reference.index;
    t.span = span_of(t.holder);
    if (t.span.space == Space::None && bytes_of(item(t.holder)) != 0)
      fail(t.holder, writes ? "is written" : "is read", "a value that has a place");
    if (writes && t.span.space == Space::Leaf && item(t.holder).role() == Role::Leaf)
      fail(t.holder, "is written", "a value that is not an argument");
    if (writes ? reference.integer != 0 : !offsets_.contains({t.holder, reference.integer}))
      fail(t.holder, "is taken from its byte " + std::to_string(reference.integer) + " on", "where it or one of its views begins");
    return t;
  }

  std::vector<Touch> touched(const Step& step) {
    std::vector<Touch> out;
    if (step.is_call()) {
      const std::size_t inputs = item(step.called()->item).inputs.size();
      for (std::size_t b = 0; b < step.buffers().size(); ++b) {
        if (step.buffers()[b].kind == Kind::Nothing) continue;
        const auto access = step.part() ? step.part()->accesses[b] : b < inputs ? runtime::Access::Reads : runtime::Access::Writes;
        out.push_back(touch(step.buffers()[b], access != runtime::Access::Reads, 0, static_cast<int>(b)));
        out.back().needs = access != runtime::Access::Writes;
      }
      step.part() ? check_part(step) : check_call(step);
      if (const int s = step.called()->workspace; s >= 0) out.push_back(touch({Kind::Scratch, s, 0, 0}, true, 0, -1));
    }
    for (std::size_t s = 0; s < step.sets().size(); ++s) {
      const auto& arguments = step.sets()[s].arguments;
      const auto& parameters = step.launch()->program->parameters;
      if (arguments.size() != parameters.size())
        fail(-1, "passes " + std::to_string(arguments.size()) + " arguments", std::to_string(parameters.size()));
      for (std::size_t a = 0; a < arguments.size(); ++a) {
        const Kind kind = arguments[a].kind;
        const bool memory = kind == Kind::Value || kind == Kind::Scratch || kind == Kind::Update;
        if (parameters[a].pointer != (memory || (asynchronous_ && kind == Kind::Constant)))
          fail(-1, "passes something else for " + parameters[a].name, parameters[a].pointer ? "memory" : "a number");
        if (!memory) continue;
        if (kind == Kind::Update && arguments[0].index != graph_.updates[at(arguments[a].index)].item)
          fail(arguments[0].index, "is copied into a Variable", "that Variable's new value");
        out.push_back(touch(arguments[a], parameters[a].writable, static_cast<int>(s), static_cast<int>(a)));
        // A copy may move pairs (LoopNest::copies_pairs).
        const auto is_pair = [&](DType dtype) { return parameters[a].dtype == DType::i64 && size_of(dtype) == 4 && step.name == "copy"; };
        if (const DType dtype = item(out.back().holder).dtype; kind != Kind::Scratch && dtype != parameters[a].dtype && !is_pair(dtype))
          fail(out.back().holder, "is passed for " + parameters[a].name, "a value of its dtype");
        if (parameters[a].writable) out.back().needs = needs_contents(accesses_of(step, s), static_cast<int>(a));
      }
    }
    if (step.launch()) check_sizes(step);
    check_lists(step, out);
    return out;
  }

  // A call reads its inputs' views, in their order.
  void check_call(const Step& step) const {
    const int i = step.called()->item;
    const std::size_t results = std::max<std::size_t>(1, item(i).results.size());
    if (step.buffers().size() != item(i).inputs.size() + results)
      fail(i, "is computed from " + std::to_string(step.buffers().size() - results) + " buffers", "one for each input");
    for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
      const int value = place(item(i).inputs[k]).value;
      const std::int64_t bytes = first_byte(item(i).inputs[k]);
      if (step.buffers()[k].index != value || step.buffers()[k].integer != bytes)
        fail(i, "is computed from byte " + std::to_string(step.buffers()[k].integer) + " on of " + text(step.buffers()[k].index),
             "byte " + std::to_string(bytes) + " of " + text(value));
    }
  }

  // One of the steps of a call reads views of the call's inputs and temporaries, and writes its results and temporaries.
  void check_part(const Step& step) const {
    const int i = step.called()->item;
    for (std::size_t b = 0; b < step.buffers().size(); ++b) {
      const Reference& buffer = step.buffers()[b];
      if (buffer.kind != Kind::Value) continue;
      const bool is_result = producer_of(graph_, buffer.index) == i && buffer.integer == 0;
      const bool is_input = std::ranges::any_of(
          item(i).inputs, [&](int input) { return place(input).value == buffer.index && first_byte(input) == buffer.integer; });
      if (step.part()->accesses[b] == runtime::Access::Reads ? !is_input && !is_result : !is_result)
        fail(i, "has a step that touches byte " + std::to_string(buffer.integer) + " of " + text(buffer.index), "its inputs and results");
    }
  }

  void check_sizes(const Step& step) const {
    bool asserts = false;
    for (const auto& instruction : step.launch()->program->instructions) asserts = asserts || instruction.word == tile::Word::Assert;
    if (asserts && !step.checks) fail(-1, "has a check", "Step::checks to say so");
  }

  // Sets of items: what a step says must be what its arguments do. Kernels of an op say that all of their launches touch everything.
  void check_lists(const Step& step, const std::vector<Touch>& touches) const {
    std::set<int> reads, writes, scratch;
    for (const Touch& t : touches) {
      if (t.holder >= graph_.size()) scratch.insert(t.holder - graph_.size());
      else (t.writes ? writes : reads).insert(t.writes ? written_name(t) : t.holder);
    }
    writes.erase(-1);
    const auto agree = [&](const std::set<int>& used, const std::vector<int>& list, std::string_view what) {
      const std::set<int> said(list.begin(), list.end());
      const bool exact = step.check_item < 0;
      if (exact ? used == said : std::includes(said.begin(), said.end(), used.begin(), used.end())) return;
      std::vector<int> differ;
      std::set_symmetric_difference(used.begin(), used.end(), said.begin(), said.end(), std::back_inserter(differ));
      fail(what == "scratch" ? graph_.size() + differ[0] : differ[0], used.contains(differ[0]) ? "is touched" : "is not touched",
           "Step::" + std::string(what) + " to agree");
    };
    agree(reads, step.reads, "reads");
    agree(writes, step.writes, "writes");
    agree(scratch, step.scratch, "scratch");
  }
  // A late update's step says that it writes the leaf, which stands for the old value; -1 where nothing reads that.
  int written_name(const Touch& t) const {
    if (t.span.space != Space::Leaf || plan_.storage[at(t.holder)].kind == Space::Update) return t.holder;
    return items_of_leaves(graph_)[at(t.span.index)];
  }

  // ---- The walk: what each place holds.
  std::string found_at(const Span& span) const {
    const int found = contents_.found_at(span);
    return found == -1 && span.space == Space::Leaf ? "the old value" : text(found);
  }

  void walk(const std::vector<Touch>& touches) {
    for (const Touch& t : touches) {
      if (!t.needs || is_empty(t)) continue;
      // An item that overwrites a value may read it first.
      const int below = t.writes && t.holder < graph_.size() ? overwritten(graph_, t.holder) : -1;
      const bool reads_below = below >= 0 && span_of(below).key() == t.span.key() && contents_.holds(span_of(below), below);
      if (!reads_below && !contents_.holds(t.span, t.holder))
        fail(t.holder, "is read from " + text(t.span), "it there, not " + found_at(t.span));
      // A value that several launches write is whole after the last of them; those of one op may read what is there.
      const int of = step().part() ? step().called()->item : step().check_item;
      const bool own = of >= 0 && (t.holder >= graph_.size() || producer_of(graph_, t.holder) == of);
      if (!own && writers_[at(t.holder)] > 0) fail(t.holder, "is read from " + text(t.span), "a value that is whole");
    }
    check_meetings(touches);
    for (const Touch& t : touches) {
      if (!t.writes || is_empty(t)) continue;
      const int below = t.holder < graph_.size() ? overwritten(graph_, t.holder) : -1;
      if (below >= 0 && !t.copies && (span_of(below).key() != t.span.key() || !contents_.holds(span_of(below), below)))
        fail(t.holder, "is written over " + text(t.span), text(below) + " to be there, not " + found_at(t.span));
      if (t.span.space == Space::Leaf) check_guard(t);
      contents_.write(t.span, t.holder);
      if (!t.copies) contents_.each_around(t.holder, [&](int holder) { --writers_[at(holder)]; });
    }
  }
  bool is_empty(const Touch& t) const { return t.holder < graph_.size() && bytes_of(item(t.holder)) == 0; }

  // A write may overlap nothing else, except a read by the same program of the same element before the write.
  void check_meetings(const std::vector<Touch>& touches) {
    std::vector<const Touch*> order;
    std::set<int> own;
    for (const Touch& t : touches) {
      // Sets of an op's launch that write its value write different parts of it (KernelContext::beside).
      const bool is_own = t.holder < graph_.size() && step().check_item >= 0 && producer_of(graph_, t.holder) == step().check_item;
      const bool again = t.writes && is_own && !own.insert(t.holder).second;
      if (!is_empty(t) && !again) order.push_back(&t);
    }
    each_meeting(std::move(order), [&](const Touch& a, const Touch& b) { prove(a, b); });
  }

  /// Visits the pairs of touches that meet and of which one writes.
  template <class Visit>
  static void each_meeting(std::vector<const Touch*> touches, Visit visit) {
    const auto space = [](const Touch* t) { return std::pair(t->span.space, t->span.index); };
    std::ranges::stable_sort(touches, {}, [](const Touch* t) { return t->span.key(); });
    for (auto begin = touches.begin(), end = begin; begin != touches.end(); begin = end) {
      end = std::find_if(begin, touches.end(), [&](const Touch* t) { return space(t) != space(*begin); });
      if (std::none_of(begin, end, [](const Touch* t) { return t->writes; })) continue;
      for (auto a = begin; a != end; ++a)
        for (auto b = a + 1; b != end && (*b)->span.begin < (*a)->span.end; ++b)
          if (((*a)->writes || (*b)->writes) && (*a)->span.meets((*b)->span)) visit(**a, **b);
    }
  }

  void prove(const Touch& a, const Touch& b) {
    const Touch &written = a.writes ? a : b, &read = a.writes ? b : a;
    const std::string place = "is written to " + text(written.span) + ", where " + text(read.holder) + " is ";
    if (read.writes) fail(written.holder, place + "written too", "places apart");
    const bool says_so = step().is_call() && !step().part() && written.span.begin == read.span.begin && written.span.end == read.span.end &&
                         item(producer_of(graph_, written.holder)).as<LibraryOp>().may_be_in_place();
    if (says_so) return;
    if (step().is_call() || written.set != read.set) fail(written.holder, place + "read", "places apart");
    const LaunchSet& set = step().sets()[at(written.set)];
    const auto& parameters = step().launch()->program->parameters;
    const bool same = written.span.begin == read.span.begin &&
                      size_of(parameters[at(written.argument)].dtype) == size_of(parameters[at(read.argument)].dtype);
    if (!same || set.arguments[at(read.argument)].integer != 0 ||
        !reads_before_it_writes(accesses_of(step(), at(written.set)), written.argument, read.argument, set.grid))
      fail(written.holder, place + "read", "every element to be read where and before it is written, or places apart");
  }

  const std::vector<ProgramAccess>& accesses_of(const Step& step, std::size_t set) {
    if (accesses_step_ != &step || accesses_set_ != set) {
      accesses_ = accesses(*step.launch()->program, step.sets()[set].arguments);
      accesses_step_ = &step, accesses_set_ = set;
    }
    return accesses_;
  }

  // A failed check leaves Variables as they were.
  void check_guard(const Touch& t) const {
    int last = -1;
    for (int s = 0; s < count(); ++s) last = plan_.steps[at(s)].checks ? s : last;
    if (last < 0) return;
    if (step_ <= last) fail(t.holder, "is written to " + text(t.span), "to come after the checks of step " + std::to_string(last + 1));
    if (asynchronous_ && (!step().guarded || step().is_call())) fail(t.holder, "is written to " + text(t.span), "a guarded step");
  }

  void finish() {
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const int i = graph_.outputs[o];
      const Span span{Space::Output, static_cast<int>(o), 0, 1, i};
      if (bytes_of(item(i)) != 0 && !contents_.holds(span, i))
        fail(i, "is result " + std::to_string(o), "it there at the end, not " + found_at(span));
    }
    for (const auto& update : graph_.updates) {
      const Span span{Space::Leaf, update.leaf, 0, 1, update.item};
      if (bytes_of(item(update.item)) != 0 && !contents_.holds(span, update.item))
        fail(update.item, "is the new value of leaf " + std::to_string(update.leaf), "it there at the end, not " + found_at(span));
    }
  }

  // ---- Steps side by side.
  std::vector<std::vector<bool>> closure(const std::vector<std::vector<int>>& after) const {
    std::vector<std::vector<bool>> before(after.size());
    for (std::size_t s = 0; s < after.size(); ++s) {
      before[s].resize(after.size());
      for (const int e : after[s]) {
        if (e < 0 || at(e) >= s) fail(-1, "has a step that waits for a later one", "an order");
        before[s][at(e)] = true;
        for (std::size_t i = 0; i < at(e); ++i) {
          if (before[at(e)][i]) before[s][i] = true;
        }
      }
    }
    return before;
  }

  // Twice in one recording: each step behind those it waits for, and all of the second run behind all of the first.
  void check_recording(const std::vector<std::vector<int>>& after) const {
    const std::vector<PlannedRun> runs = recorded_runs(plan_, after, 2);
    const std::size_t steps = plan_.steps.size();
    if (runs.size() != 2 * steps) fail(-1, "is recorded as " + std::to_string(runs.size()) + " steps", std::to_string(2 * steps));
    std::vector<std::vector<int>> waits;
    std::vector<std::size_t> place(steps);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      waits.push_back(runs[k].after);
      if (k < steps) place[at(runs[k].step)] = k;
    }
    const std::vector<std::vector<bool>> before = closure(waits);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const std::size_t begin = k / steps * steps;
      for (const int e : after[at(runs[k].step)]) {
        if (!before[k][begin + place[at(e)]])
          fail(-1, "records step " + std::to_string(runs[k].step + 1), "it behind step " + std::to_string(e + 1));
      }
      for (std::size_t earlier = 0; earlier < begin; ++earlier) {
        if (!before[k][earlier]) fail(-1, "records a second run", "each of its steps behind all of the first");
      }
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  bool asynchronous_;
  std::vector<Place> places_;  // the checker's own
  Contents contents_;
  int step_ = -1;  // -1: outside of the steps
  std::vector<std::vector<Touch>> touches_;  // per step
  std::vector<int> writers_;  // per holder: launches that are still to write it
  std::set<std::pair<int, std::int64_t>> offsets_;  // (item, byte) where a view begins that somebody reads
  std::vector<ProgramAccess> accesses_;  // of the launch asked about last
  const Step* accesses_step_ = nullptr;
  std::size_t accesses_set_ = 0;
};

}  // namespace

void check_plan(const Plan& plan, bool asynchronous) {
  Checker checker(plan, asynchronous);
  checker.run();
  for (const Step& step : plan.steps) {
    if (!step.loop()) continue;
    check_loop(step.loop()->schedule, step.name);
    if (const Plan* const body = body_of(*step.loop())) check_plan(*body, asynchronous);
  }
  if (asynchronous) checker.check_order(dependencies(plan));
  if (const Overlap beside = overlap(plan, asynchronous); !beside.begins.empty()) checker.check_order(order_of_walk(plan, beside));
}

void check_order(const Plan& plan, const std::vector<std::vector<int>>& after) { Checker(plan, true).check_order(after); }

}  // namespace tegula::compile
