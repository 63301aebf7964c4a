// Which steps must wait for which, by the memory they touch; exchanges with other processes also for the one before.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {
namespace {

/// Numbers from `begin` to `end`: bytes of memory, or elements of a join counted piece by piece.
struct Interval {
  std::size_t begin, end;
};

/// A stretch of memory in one of several address spaces (the arena, leaves, results) that belongs to a value, a join or scratch, its `tenant`, of
/// which a step touches a part.
struct Range {
  Storage::Kind space;
  int index;
  Interval memory;
  int tenant;
  Interval part;
};

struct Touched {
  std::vector<Range> reads, writes;
};

class Ranges {
 public:
  /// `planned`: memory is; else each value has its own.
  Ranges(const Plan& plan, bool planned) : plan_(plan), planned_(planned) {}

  Touched of(const Step& step) const {
    Touched out;
    for (int item : step.reads) add(item, out.reads);
    for (int item : step.writes) add(item, out.writes);
    for (int scratch : step.scratch) {
      if (!planned_) {
        out.writes.push_back(apart(static_cast<int>(plan_.values.size()) + scratch));
        continue;
      }
      const auto s = static_cast<std::size_t>(scratch);
      const std::size_t begin = plan_.scratch_offsets[s], bytes = std::max<std::size_t>(plan_.scratch_bytes[s], 1);
      out.writes.push_back({Storage::Kind::Arena, 0, {begin, begin + bytes}, static_cast<int>(plan_.values.size()) + scratch, {0, 1}});
    }
    return out;
  }

 private:
  static Range apart(int tenant) { return {Storage::Kind::None, tenant, {0, 1}, tenant, {0, 1}}; }
  void add(int item, std::vector<Range>& to) const {
    const Spot& spot = plan_.values[index(item)].spot;
    if (!planned_) return to.push_back(apart(spot.bottom));
    Storage storage = plan_.storage[index(spot.root)];
    if (storage.kind == Storage::Kind::None) return;
    // A Variable's new value lies where the old one does.
    if (storage.kind == Storage::Kind::Update) storage = {Storage::Kind::Leaf, plan_.graph.updates[index(storage.index)].leaf, 0};
    const std::size_t bytes = storage.kind == Storage::Kind::Leaf ? 1 : std::max<std::size_t>(plan_.values[index(spot.root)].bytes(), 1);
    const auto first = static_cast<std::size_t>(spot.first), last = static_cast<std::size_t>(std::max(spot.last, spot.first + 1));
    to.push_back({storage.kind, storage.index, {storage.offset, storage.offset + bytes}, spot.root, {first, last}});
  }

  const Plan& plan_;
  bool planned_;
};

/// A map from disjoint intervals to T. Each begins at its key and ends at the next key; an inserted interval splits those it cuts.
template <class T>
class Stretches {
 public:
  template <class Visit>
  void each(const Interval& interval, Visit visit) {
    cut(interval.begin), cut(interval.end);
    for (auto it = of_.find(interval.begin); it->first != interval.end; ++it) visit(it->second);
  }
  /// The interval becomes one stretch, of what is said of its beginning.
  void join(const Interval& interval) { of_.erase(std::next(of_.find(interval.begin)), of_.find(interval.end)); }
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [begin, value] : of_) visit(value);
  }

 private:
  void cut(std::size_t at) {
    auto behind = of_.upper_bound(at);
    if (behind == of_.begin()) of_.emplace(at, T{});
    else if (--behind; behind->first != at) of_.emplace(at, T(behind->second));
  }

  std::map<std::size_t, T> of_;
};

/// The last writer, and the readers since.
struct Touches {
  int writer = -1;
  std::vector<int> readers;
};

class Memory {
 public:
  void touch(const Range& range, int step, bool writes, std::vector<int>& waits) {
    move_in(range, step, waits);
    const Arrival& arrival = arrivals_[range.tenant];
    const std::vector<int>& before = arrival.behind.size() <= kFew ? arrival.behind : arrival.steps;
    tenants_[range.tenant].each(range.part, [&](Touches& touches) {
      if (touches.writer < 0 && touches.readers.empty()) std::ranges::remove_copy(before, std::back_inserter(waits), step);
      wait_for(touches, step, writes, waits);
      if (!writes) {
        if (touches.readers.empty() || touches.readers.back() != step) touches.readers.push_back(step);
        return;
      }
      touches.writer = step;
      touches.readers.clear();
    });
  }

 private:
  static void wait_for(const Touches& touches, int step, bool for_readers, std::vector<int>& waits) {
    if (touches.writer >= 0 && touches.writer != step) waits.push_back(touches.writer);
    if (!for_readers) return;
    for (const int reader : touches.readers) {
      if (reader != step) waits.push_back(reader);
    }
  }
  // A step that takes over another tenant's memory waits for all steps that touched that tenant; so do the other first steps at a part of it.
  void move_in(const Range& range, int step, std::vector<int>& waits) {
    auto& space = spaces_[{range.space, range.index}];
    bool moves = false;
    int last = -1;
    std::vector<int> arrived;
    space.each(range.memory, [&](int& tenant) {
      if (tenant == range.tenant) return;
      moves = true;
      const int before = std::exchange(tenant, range.tenant);
      if (before < 0 || before == last) return;
      last = before;
      tenants_[before].each([&](const Touches& touches) { wait_for(touches, step, true, arrived); });
    });
    if (!moves) return;
    space.join(range.memory);
    waits.insert(waits.end(), arrived.begin(), arrived.end());
    Arrival& arrival = arrivals_[range.tenant];
    arrival.steps.push_back(step);
    arrival.behind.insert(arrival.behind.end(), arrived.begin(), arrived.end());
  }

  struct Tenant {
    int of = -1;
    operator int&() { return of; }
  };
  std::map<std::pair<Storage::Kind, int>, Stretches<Tenant>> spaces_;
  std::map<int, Stretches<Touches>> tenants_;
  /// The steps by which a tenant came to its memory, and those that they waited for: others wait for these, or, where they are many, for the former.
  struct Arrival {
    std::vector<int> steps, behind;
  };
  static constexpr std::size_t kFew = 16;
  std::map<int, Arrival> arrivals_;
};

/// The transitive predecessors of each of the last steps. Those of older steps are no longer known.
class Before {
 public:
  explicit Before(int step)
      : first_(step < kWindow ? 0 : static_cast<std::size_t>(step - kWindow) / 64),
        words_(static_cast<std::size_t>(step) / 64 + 1 - first_) {}
  bool has(int step) const {
    const std::size_t word = static_cast<std::size_t>(step) / 64;
    return word >= first_ && (words_[word - first_] >> (step % 64) & 1u) != 0;
  }
  void add(int step, const Before& its) {
    const std::size_t word = static_cast<std::size_t>(step) / 64;
    if (word >= first_) words_[word - first_] |= std::uint64_t{1} << (step % 64);
    for (std::size_t w = std::max(first_, its.first_); w < its.first_ + its.words_.size(); ++w)
      words_[w - first_] |= its.words_[w - its.first_];
  }
  void forget() { words_ = {}; }
  static constexpr int kWindow = 1 << 14;  // steps: so that time and memory grow with their number, not with its square

 private:
  std::size_t first_;
  std::vector<std::uint64_t> words_;
};

/// Per step, the earlier ones that it waits for, transitively reduced.
std::vector<std::vector<int>> waits(const Plan& plan, const Ranges& ranges, bool exchanges_in_turn) {
  Memory memory;
  std::vector<int> checks;
  int exchange = -1;
  std::vector<Before> before;
  std::vector<std::vector<int>> out;
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const Step& step = plan.steps[index(s)];
    std::vector<int> waits;
    if (step.guarded) waits = checks;
    const Touched touched = ranges.of(step);
    for (const Range& range : touched.reads) memory.touch(range, s, false, waits);
    for (const Range& range : touched.writes) memory.touch(range, s, true, waits);
    if (step.checks) checks.push_back(s);
    if (step.exchanges && exchanges_in_turn) {
      if (exchange >= 0) waits.push_back(exchange);
      exchange = s;
    }
    std::ranges::sort(waits, std::greater());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::vector<int> direct;
    before.emplace_back(s);
    for (const int e : waits) {
      if (before.back().has(e)) continue;
      direct.push_back(e);
      before.back().add(e, before[index(e)]);
    }
    if (s >= Before::kWindow) before[index(s - Before::kWindow)].forget();
    std::reverse(direct.begin(), direct.end());
    out.push_back(std::move(direct));
  }
  return out;
}

}  // namespace

std::vector<bool> urgent_steps(const Plan& plan) {
  const auto root = [&](int item) { return plan.values[index(item)].spot.root; };
  std::vector<bool> urgent(plan.steps.size()), sent(plan.values.size());
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    const Step& step = plan.steps[s];
    const bool exchange = step.exchanges;
    urgent[s] = exchange || std::ranges::any_of(step.writes, [&](int item) { return sent[index(root(item))]; });
    if (!exchange) continue;
    for (const int item : step.reads) sent[index(root(item))] = true;
  }
  return urgent;
}

std::vector<std::vector<int>> dependencies(const Plan& plan) { return waits(plan, Ranges(plan, true), true); }

std::vector<std::vector<int>> data_flow(const Plan& plan) { return waits(plan, Ranges(plan, false), false); }

}  // namespace tegula::compile
