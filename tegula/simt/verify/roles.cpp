#include "tegula/simt/verify/roles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

constexpr int kGroup = 128, kInstances = 2;

/// An action of a thread that concerns the other role.
struct Event {
  enum class What : std::uint8_t { Await, Expect, Box, Put, Arrive, Take, CloseProducts, AwaitProducts };
  What what;
  std::int64_t place = 0;  // of a counter, or a tile
  std::int64_t number = 0;  // parity, bytes, arrivals, unfinished groups
  std::int64_t counter = 0;  // of a box; the iteration is:
  std::int64_t iteration = 0;
};

struct Counter {
  int arrivals = 1, left = 1;
  std::int64_t missing = 0;
  int phase = 0;  // that is open: so many have ended
  int done = 0, last_done = 0;  // groups of products that were done when threads arrived, in this phase and in the last one
};

/// The first thread of a role: its statements as events. At the beginning it knows what all threads know.
class Follower : Numbers {
 public:
  Follower(const Kernel& kernel, bool copies) : kernel_(kernel), first_(copies ? kernel.team() : 0) {
    known_["threadIdx.x"] = first_;
    walk(kernel.begin);
    iterations_ = 2 * most_stages_ + 1;
    for (instance_ = 0; instance_ < (kernel.stays ? kInstances : 1); ++instance_) walk(kernel.body);
  }
  const std::vector<Event>& events() const { return events_; }
  const std::map<std::int64_t, Counter>& counters() const { return counters_; }

 private:
  using What = Event::What;
  void walk(const Block& block) {
    for (const Statement& statement : block) follow(statement);
  }
  void say(What what, const Expression& place, std::int64_t number, std::optional<std::int64_t> counter = 0) {
    if (const auto at = value(place); at && counter)
      events_.push_back({.what = what, .place = *at, .number = number, .counter = *counter, .iteration = instance_ * 1000 + iteration_});
  }
  void follow(const Statement& statement) {
    if (const auto* begin = statement.as<BeginCounters>()) {
      most_stages_ = std::max(most_stages_, begin->count);
      for (int i = 0; i < begin->count; ++i)
        counters_[value(begin->place).value_or(0) + 8 * i] = {.arrivals = begin->arrivals, .left = begin->arrivals};
    } else if (const auto* wait = statement.as<AwaitBytes>()) {
      if (const auto parity = value(wait->parity)) say(What::Await, wait->counter, *parity);
    } else if (const auto* expect = statement.as<ExpectBytes>()) {
      say(What::Expect, expect->counter, static_cast<std::int64_t>(expect->bytes));
    } else if (const auto* copy = statement.as<CopyBox>()) {
      say(What::Box, copy->place, std::int64_t{copy->box_rows} * copy->pitch, value(copy->counter));
    } else if (const auto* copy = statement.as<CopyAhead>()) {
      say(What::Put, copy->place, 0);
    } else if (const auto* arrive = statement.as<Arrive>()) {
      if (const std::int64_t arrivals = arrivals_of(statement); arrivals > 0) say(What::Arrive, arrive->counter, arrivals);
    } else if (const auto* product = statement.as<MultiplyTile>()) {
      iteration_ -= product->behind;
      if (!product->registers) say(What::Take, product->left.place, 0);
      say(What::Take, product->right.place, 0);
      iteration_ += product->behind;
    } else if (statement.as<CloseProducts>()) {
      events_.push_back({.what = What::CloseProducts});
    } else if (const auto* awaited = statement.as<AwaitProducts>()) {
      events_.push_back({.what = What::AwaitProducts, .number = awaited->unfinished});
    } else if (const auto* declare = statement.as<Declare>()) {
      if (declare->value) learn(declare->what.name, *declare->value);
      else known_.erase(declare->what.name.str());
    } else if (const auto* assign = statement.as<Assign>()) {
      if (assign->target.kind == Expression::Kind::Name && !statement.when) learn(assign->target.name, assign->value);
    } else if (const auto* branch = statement.as<Branch>(); branch && loop_behind_first(*branch)) {
      without_first_ = loop_behind_first(*branch), iteration_ = 0;
      walk(branch->then);
    } else if (branch) {
      const auto when = value(branch->when);
      if (when.value_or(1) != 0) walk(branch->then);
      if (when.value_or(0) == 0) walk(branch->otherwise);
    } else if (const auto* loop = statement.as<For>()) {
      const std::int64_t begin = value(loop->begin).value_or(0), step = value(loop->step).value_or(1);
      const int first = loop == without_first_;
      for (iteration_ = first; iteration_ < iterations_; ++iteration_)
        known_[loop->name.str()] = begin + (iteration_ - first) * step, walk(loop->body);
    } else if (const auto* loop = statement.as<Loop>()) {
      known_[loop->name.str()] = loop->name == "step" ? 0 : loop->begin;  // steps of one tile
      walk(loop->body);
    } else {
      for_each_block(statement, [&](const Block& inner) { walk(inner); });
    }
  }
  /// Returns the arrivals of all threads of the role.
  std::int64_t arrivals_of(const Statement& statement) {
    std::int64_t arrivals = 0;
    const int threads = first_ == 0 ? kernel_.team() : kernel_.copiers;
    for (int thread = 0; thread < threads; ++thread) {
      known_["threadIdx.x"] = first_ + thread;
      arrivals += !statement.when || value(*statement.when).value_or(1) != 0;
    }
    known_["threadIdx.x"] = first_;
    return arrivals;
  }

  const Kernel& kernel_;
  const int first_;
  std::vector<Event> events_;
  std::map<std::int64_t, Counter> counters_;
  const For* without_first_ = nullptr;  // the loop of an open branch, of which one iteration stands ahead
  int most_stages_ = 1;
  std::int64_t instance_ = 0, iteration_ = 0, iterations_ = 1;
};

/// Both roles; where both can go on, one of them does.
class Pair {
 public:
  Pair(const Follower& copies, const Follower& computes, std::set<std::string>& faults)
      : copies_(copies.events()),
        computes_(computes.events()),
        counters_(copies.counters()),
        faults_(faults) {}

  void run(bool copies_first) {
    const auto all = [&](bool of_copies) {
      bool any = false;
      while (of_copies ? goes_on(copies_, at_copies_, true) : goes_on(computes_, at_computes_, false)) any = true;
      return any;
    };
    for (bool any = true; any;) any = all(copies_first) | all(!copies_first);
    if (at_copies_ < copies_.size() || at_computes_ < computes_.size())
      faults_.insert("a warp that copies and those that multiply wait for each other for ever");
  }

 private:
  using What = Event::What;
  struct Tile {
    std::int64_t counter = 0, iteration = 0;
    int phase = 0;
    int read = -1;  // by the group of products
  };

  bool goes_on(const std::vector<Event>& events, std::size_t& at, bool copies) {
    if (at == events.size() || !can(events[at], copies)) return false;
    return ++at, true;
  }
  /// Does what the event is, unless it waits.
  bool can(const Event& event, bool copies) {
    switch (event.what) {
      case What::Await: return await(event, copies);
      case What::Expect:
        if (Counter* const counter = find(event.place)) counter->missing += event.number, arrive(*counter, 1);
        return true;
      case What::Box: return copy(event), true;
      case What::Put: return put_.insert(event.place), true;
      case What::Arrive:
        if (Counter* const counter = find(event.place)) counter->done = std::max(counter->done, done_), arrive(*counter, event.number);
        return true;
      case What::Take: return take(event), true;
      case What::CloseProducts: return ++products_, true;
      case What::AwaitProducts: return done_ = std::max(done_, products_ - static_cast<int>(event.number)), true;
    }
    return true;
  }
  Counter* find(std::int64_t place) {
    const auto found = counters_.find(place);
    if (found != counters_.end()) return &found->second;
    return faults_.insert("a counter is used that has not begun"), nullptr;
  }
  void arrive(Counter& counter, std::int64_t count) {
    counter.left -= static_cast<int>(count);
    if (counter.left < 0) faults_.insert("more arrive at a counter than it counts in a phase");
    close(counter);
  }
  static void close(Counter& counter) {
    if (counter.left > 0 || counter.missing != 0) return;
    ++counter.phase, counter.left = counter.arrivals;
    counter.last_done = counter.done;
  }
  bool await(const Event& event, bool copies) {
    Counter* const counter = find(event.place);
    if (!counter) return true;
    if ((counter->phase & 1) == event.number) return false;
    if (copies) known_done_ = std::max(known_done_, counter->last_done);
    else seen_[event.place] = counter->phase;
    return true;
  }
  void copy(const Event& event) {
    Tile& tile = tiles_[event.place];
    if (tile.read >= known_done_) faults_.insert("a stage is filled while it may still be read");
    Counter* const counter = find(event.counter);
    if (!counter) return;
    tile = {.counter = event.counter, .iteration = event.iteration, .phase = counter->phase};
    counter->missing -= event.number;
    if (counter->missing < 0) faults_.insert("a counter expects other bytes than are copied");
    close(*counter);
  }
  void take(const Event& event) {
    if (put_.contains(event.place)) return;  // by the threads themselves, which have met since
    const auto found = tiles_.find(event.place);
    if (found == tiles_.end()) return void(faults_.insert("tensor cores read a tile that nothing was copied to"));
    Tile& tile = found->second;
    tile.read = products_;
    const auto seen = seen_.find(tile.counter);
    if (seen == seen_.end() || seen->second <= tile.phase) faults_.insert("tensor cores read a tile before its copies have arrived");
    if (tile.iteration != event.iteration) faults_.insert("tensor cores read a tile of another iteration");
  }

  const std::vector<Event>&copies_, &computes_;
  std::map<std::int64_t, Counter> counters_;
  std::set<std::string>& faults_;
  std::size_t at_copies_ = 0, at_computes_ = 0;
  std::map<std::int64_t, Tile> tiles_;
  std::set<std::int64_t> put_;  // tiles that those that multiply copy
  std::map<std::int64_t, int> seen_;  // by those that multiply: phases that have ended
  int products_ = 0, done_ = 0, known_done_ = 0;  // groups that are closed; that are done; that who copies knows to be
};

/// Registers that threads take are there once others have given theirs back.
void check_registers_moved(const Kernel& kernel, std::set<std::string>& faults) {
  std::int64_t all = 0;
  int moves = 0;
  const auto add = [&](const Block& block, int threads) {
    for_each_statement(block, [&](const Statement& one) {
      const auto* const registers = one.as<MoveRegisters>();
      if (!registers) return;
      ++moves, all += std::int64_t{threads} * registers->count;
      if (threads % kGroup != 0 || one.when) faults.insert("some of a group of four warps move registers without the others");
      if (registers->takes != (registers->count > MoveRegisters::at_first(kernel.threads())))
        faults.insert("threads take registers that they have, or give back what they need");
    });
  };
  for (const Statement& statement : kernel.body) {
    const auto* const branch = statement.as<Branch>();
    if (branch && branch->when == (Expression("threadIdx.x") < kernel.team()))
      add(branch->then, kernel.team()), add(branch->otherwise, kernel.copiers);
  }
  if (moves > 0 && (moves != 2 || all > std::int64_t{kernel.threads()} * MoveRegisters::at_first(kernel.threads())))
    faults.insert("threads take more registers than others give back");
}

}  // namespace

void check_roles(const Kernel& kernel, std::set<std::string>& faults) {
  if (kernel.copiers == 0) return;
  check_registers_moved(kernel, faults);
  const Follower copies(kernel, true), computes(kernel, false);
  for (const bool copies_first : {true, false}) Pair(copies, computes, faults).run(copies_first);
}

}  // namespace tegula::simt
