#include "tegula/simt/verify/roles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

constexpr int kGroup = 128, kInstances = 2;
constexpr std::int64_t kApart = std::int64_t{1} << 36;  // from a place in a block of a cluster to the same place in the next one

int block_of(std::int64_t place) { return static_cast<int>((place - Numbers::kTiles) / kApart); }

/// An action of a thread that concerns other ones; places are those of all blocks of a cluster.
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
  std::map<int, int> done,
      last_done;  // by block: groups of products that were done when threads arrived, in this phase and in the last one
};

/// The first thread of a role in a block: its statements as events. At the beginning it knows what all threads know.
class Follower : Numbers {
 public:
  Follower(const Kernel& kernel, int block, bool copies) : kernel_(kernel), block_(block), first_(copies ? kernel.team() : 0) {
    known_["threadIdx.x"] = first_;
    if (kernel.cluster > 1) known_["block"] = block;
    walk(kernel.begin);
    iterations_ = 2 * most_stages_ + 1;
    for (instance_ = 0; instance_ < (kernel.stays ? kInstances : 1); ++instance_) walk(kernel.body);
  }
  const std::vector<Event>& events() const { return events_; }
  const std::map<std::int64_t, Counter>& counters() const { return counters_; }
  int block() const { return block_; }
  bool copies() const { return first_ > 0; }

 private:
  using What = Event::What;
  void walk(const Block& block) {
    for (const Statement& statement : block) follow(statement);
  }
  /// In the own block, or in another one.
  void say(What what, const Expression& place, std::int64_t number, std::optional<std::int64_t> counter = 0, int block = -1) {
    const std::int64_t further = (block < 0 ? block_ : block) * kApart;
    if (const auto at = value(place); at && counter)
      events_.push_back({.what = what,
                         .place = *at + further,
                         .number = number,
                         .counter = *counter + further,
                         .iteration = instance_ * 1000 + iteration_});
  }
  void follow(const Statement& statement) {
    if (const auto* begin = statement.as<BeginCounters>()) {
      most_stages_ = std::max(most_stages_, begin->count);
      for (int i = 0; i < begin->count; ++i)
        counters_[value(begin->place).value_or(0) + block_ * kApart + 8 * i] = {.arrivals = begin->arrivals, .left = begin->arrivals};
    } else if (const auto* wait = statement.as<AwaitBytes>()) {
      if (const auto parity = value(wait->parity)) say(What::Await, wait->counter, *parity);
    } else if (const auto* expect = statement.as<ExpectBytes>()) {
      say(What::Expect, expect->counter, static_cast<std::int64_t>(expect->bytes));
    } else if (const auto* copy = statement.as<CopyBox>()) {
      const std::int64_t bytes = std::int64_t{copy->box_rows} * copy->pitch;
      if (copy->blocks == 0) say(What::Box, copy->place, bytes, value(copy->counter));
      for (int block = 0; copy->blocks >> block != 0; ++block)
        if ((copy->blocks >> block & 1) != 0) say(What::Box, copy->place, bytes, value(copy->counter), block);
    } else if (const auto* copy = statement.as<CopyAhead>()) {
      say(What::Put, copy->place, 0);
    } else if (const auto* arrive = statement.as<Arrive>()) {
      for (const auto& [block, arrivals] : arrivals_of(statement)) say(What::Arrive, arrive->counter, arrivals, 0, block);
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
  /// Returns the arrivals of all threads of the role, by block.
  std::map<int, std::int64_t> arrivals_of(const Statement& statement) {
    std::map<int, std::int64_t> arrivals;
    const auto& block = statement.as<Arrive>()->block;
    const int threads = first_ == 0 ? kernel_.team() : kernel_.copiers;
    for (int thread = 0; thread < threads; ++thread) {
      known_["threadIdx.x"] = first_ + thread;
      if (statement.when && value(*statement.when).value_or(1) == 0) continue;
      ++arrivals[block ? static_cast<int>(value(*block).value_or(block_)) : block_];
    }
    known_["threadIdx.x"] = first_;
    return arrivals;
  }

  const Kernel& kernel_;
  const int block_, first_;
  std::vector<Event> events_;
  std::map<std::int64_t, Counter> counters_;
  const For* without_first_ = nullptr;  // the loop of an open branch, of which one iteration stands ahead
  int most_stages_ = 1;
  std::int64_t instance_ = 0, iteration_ = 0, iterations_ = 1;
};

/// Both roles of all blocks; where several can go on, the first one does.
class Roles {
 public:
  Roles(const std::vector<Follower>& all, std::set<std::string>& faults) : faults_(faults) {
    for (const Follower& one : all) {
      actors_.push_back({.follower = &one});
      counters_.insert(one.counters().begin(), one.counters().end());
    }
  }

  /// From the first of them on or from the last one, as far as each can.
  void run(bool from_last) {
    if (from_last) std::ranges::reverse(actors_);
    for (bool any = true; any;) {
      any = false;
      for (Actor& actor : actors_)
        while (goes_on(actor)) any = true;
    }
    if (std::ranges::any_of(actors_, [](const Actor& actor) { return actor.at < actor.follower->events().size(); }))
      faults_.insert("a warp that copies and those that multiply wait for each other for ever");
  }

 private:
  using What = Event::What;
  struct Tile {
    std::int64_t counter = 0, iteration = 0;
    int phase = 0;
    int read = -1;  // by the group of products
  };
  struct Actor {
    const Follower* follower = nullptr;
    std::size_t at = 0;  // event
    int products = 0, done = 0;  // groups of products that are closed; that are done
    std::map<int, int> known_done;  // of who copies: the same that are known to be, by block
    std::map<std::int64_t, int> seen;  // of who multiplies: phases that have ended
  };

  bool goes_on(Actor& actor) {
    const auto& events = actor.follower->events();
    if (actor.at == events.size() || !can(events[actor.at], actor)) return false;
    return ++actor.at, true;
  }
  /// Does what the event is, unless it waits.
  bool can(const Event& event, Actor& actor) {
    switch (event.what) {
      case What::Await: return await(event, actor);
      case What::Expect:
        if (Counter* const counter = find(event.place)) counter->missing += event.number, arrive(*counter, 1);
        return true;
      case What::Box: return copy(event, actor), true;
      case What::Put: return put_.insert(event.place), true;
      case What::Arrive:
        if (Counter* const counter = find(event.place)) {
          int& done = counter->done[actor.follower->block()];
          done = std::max(done, actor.done), arrive(*counter, event.number);
        }
        return true;
      case What::Take: return take(event, actor), true;
      case What::CloseProducts: return ++actor.products, true;
      case What::AwaitProducts: return actor.done = std::max(actor.done, actor.products - static_cast<int>(event.number)), true;
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
  /// Boxes of another block may come before the own one expects them.
  void close(Counter& counter) {
    if (counter.left == 0 && counter.missing < 0) faults_.insert("a counter expects other bytes than are copied");
    if (counter.left > 0 || counter.missing != 0) return;
    ++counter.phase, counter.left = counter.arrivals;
    counter.last_done = counter.done;
  }
  bool await(const Event& event, Actor& actor) {
    Counter* const counter = find(event.place);
    if (!counter) return true;
    if ((counter->phase & 1) == event.number) return false;
    if (!actor.follower->copies()) actor.seen[event.place] = counter->phase;
    else
      for (const auto& [block, done] : counter->last_done) actor.known_done[block] = std::max(actor.known_done[block], done);
    return true;
  }
  void copy(const Event& event, Actor& actor) {
    Tile& tile = tiles_[event.place];
    if (tile.read >= actor.known_done[block_of(event.place)]) faults_.insert("a stage is filled while it may still be read");
    Counter* const counter = find(event.counter);
    if (!counter) return;
    tile = {.counter = event.counter, .iteration = event.iteration, .phase = counter->phase};
    counter->missing -= event.number;
    close(*counter);
  }
  void take(const Event& event, Actor& actor) {
    if (put_.contains(event.place)) return;  // by the threads themselves, which have met since
    const auto found = tiles_.find(event.place);
    if (found == tiles_.end()) return void(faults_.insert("tensor cores read a tile that nothing was copied to"));
    Tile& tile = found->second;
    tile.read = actor.products;
    const auto seen = actor.seen.find(tile.counter);
    if (seen == actor.seen.end() || seen->second <= tile.phase) faults_.insert("tensor cores read a tile before its copies have arrived");
    if (tile.iteration != event.iteration) faults_.insert("tensor cores read a tile of another iteration");
  }

  std::vector<Actor> actors_;
  std::map<std::int64_t, Counter> counters_;
  std::set<std::string>& faults_;
  std::map<std::int64_t, Tile> tiles_;
  std::set<std::int64_t> put_;  // tiles that those that multiply copy
};

/// Blocks of a cluster that reach each other's memory know before that it is there, and stay until nobody does so any more.
void check_begin_and_end(const Kernel& kernel, std::set<std::string>& faults) {
  bool reaches = false;
  for_each_statement(kernel.body, [&](const Statement& one) {
    const auto* const copy = one.as<CopyBox>();
    const auto* const arrive = one.as<Arrive>();
    reaches = reaches || (copy && copy->blocks != 0) || (arrive && arrive->block);
    if (copy && copy->blocks >> kernel.cluster != 0) faults.insert("a box comes to a block that the cluster does not have");
  });
  const auto meets = [](const Block& block) {
    return std::ranges::any_of(block, [](const Statement& one) {
      const auto* const barrier = one.as<Barrier>();
      return barrier && barrier->kind == Barrier::Kind::Cluster;
    });
  };
  if (reaches && !meets(kernel.begin)) faults.insert("a block is reached that may not have begun");
  if (reaches && !meets(kernel.end)) faults.insert("a block may end while others still reach it");
}

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
  check_begin_and_end(kernel, faults);
  std::vector<Follower> all;
  for (int block = 0; block < kernel.cluster; ++block)
    for (const bool copies : {true, false}) all.emplace_back(kernel, block, copies);
  for (const bool from_last : {false, true}) Roles(all, faults).run(from_last);
}

}  // namespace tegula::simt
