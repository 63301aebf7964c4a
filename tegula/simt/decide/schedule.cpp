#include "tegula/simt/decide/schedule.h"

#include <algorithm>
#include <utility>

#include "tegula/simt/decide/decisions.h"

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

bool contains(const std::vector<Id>& ids, Id id) { return std::ranges::find(ids, id) != ids.end(); }

/// Words that cost less than the registers that keep their result until a later loop.
bool is_cheap(Word word) {
  switch (word) {
    case Word::Neg:
    case Word::Abs:
    case Word::Not:
    case Word::Add:
    case Word::Sub:
    case Word::Mul:
    case Word::Min:
    case Word::Max:
    case Word::And:
    case Word::Or:
    case Word::Eq:
    case Word::Ne:
    case Word::Lt:
    case Word::Le:
    case Word::Gt:
    case Word::Ge:
    case Word::Select:
    case Word::Fma: return true;
    default: return false;
  }
}

class Scheduler {
 public:
  Scheduler(const Values& values, const Decisions& decisions) : v_(values), a_(values.analysis()), grid_(values.grid()), d_(decisions) {}

  Schedule run() {
    region(a_.program().body);
    return std::move(s_);
  }

 private:
  using Kind = Step::Kind;
  using Crossing = Values::Crossing;

  void add(Step step) { steps_->push_back(step); }

  // ---- Regions and words.
  void region(const tile::Region& region) {
    std::vector<Step> steps;
    std::vector<Step>* const around = std::exchange(steps_, &steps);
    for (const Id id : region.body) word(id);
    flush();
    steps_ = around;
    s_.steps[&region] = std::move(steps);
  }
  /// A guarded kernel asks for what it reads before it knows whether it may write.
  void leave_if_stopped() {
    if (!a_.guarded() || grid_.cluster > 1 || leaves_) return;
    add({Kind::Leave});
    leaves_ = depth_ == 0;  // from there on nobody is stopped
  }
  /// The word on its own, when what it takes is there.
  void alone(Id id, const std::vector<Id>& needed) {
    for (const Id operand : needed) need(operand);
    add({Kind::Word, id});
  }

  void word(Id id) {
    const tile::Instruction& self = v_.at(id);
    if (const auto found = deferred_.find(id); found != deferred_.end()) {
      const DeferredSum& sum = *found->second;
      if (id == sum.chain.front()) alone(id, {self.operands[0]});
      else if (id == sum.combination && sum.factor >= 0) alone(id, {sum.factor});
      return;
    }
    switch (self.word) {
      case Word::Parameter:
      case Word::Constant:
      case Word::Result: return;
      case Word::ProgramId:
      case Word::NumPrograms: return alone(id, {});
      case Word::For: return loop(id);
      case Word::While:
        flush();
        add({Kind::Word, id});
        ++repeats_;
        regions(self);
        --repeats_;
        return;
      case Word::If:
        flush();
        add({Kind::Word, id});
        return regions(self);
      case Word::Store:
        leave_if_stopped();
        flush_reductions();  // which may still read what is written over
        return alone(id, self.operands);
      case Word::Atomic: leave_if_stopped(); return alone(id, self.operands);
      case Word::Print:
      case Word::Barrier: flush(); return alone(id, self.operands);
      case Word::Dot: return product(id);
      case Word::Assume:
      case Word::Hint: return;  // facts.h
      default: break;
    }
    if ((v_.is_inline(id) && !self.type.shape.empty()) || d_.products.absorbed.contains(id)) return;
    if (self.word == Word::Reduce && v_.spread(self.operands[0]) != Spread::Flat) return reduce(id);
    if (tile::is_elementwise(self.word) || self.word == Word::Arange || self.word == Word::InlineAsm ||
        (self.word == Word::RandomBits && !counts_in_fours(v_, id)))
      return share_loop(id);
    alone(id, self.operands);
  }
  /// A product by tensor cores may take what its operand is made of.
  void product(Id id) {
    std::vector<Id> needed = v_.at(id).operands;
    if (const auto known = d_.products.all.find(id); known != d_.products.all.end()) needed.push_back(known->second.left.value);
    alone(id, needed);
  }
  void regions(const tile::Instruction& self) {
    ++depth_;
    for (const tile::Region& inner : self.regions) region(inner);
    --depth_;
  }
  void loop(Id id) {
    flush();
    add({Kind::Word, id});
    std::vector<Id> deferred;
    for (const auto& sum : d_.deferred.at(id)) {
      if (!sum) continue;
      std::vector<Id> words = sum->chain;
      words.push_back(sum->combination);
      for (const Id one : {sum->widened, sum->scaled})
        if (one >= 0) words.push_back(one);
      for (const Id one : words) deferred_[one] = &*sum;
      deferred.insert(deferred.end(), words.begin(), words.end());
    }
    ++repeats_;
    regions(v_.at(id));
    --repeats_;
    for (const Id one : deferred) deferred_.erase(one);
  }

  // ---- Words that share a loop.
  /// Makes sure that what the value is computed from has its statements.
  void need(Id id) {
    if (reductions_.empty() && loops_.empty()) return;
    v_.for_each_source(id, [&](Id source) {
      if (contains(reductions_, source)) flush_reductions();
      for (const SharedLoop& loop : loops_) {
        if (!contains(loop.ids, source)) continue;
        flush(loop.spread, loop.count);
        break;
      }
    });
  }
  /// Adds a word to its loop. Values that it takes from other loops come first.
  void share_loop(Id id) {
    const Spread own = v_.spread(id);
    const std::vector<Id>& operands = v_.at(id).operands;
    if (own == Spread::Uniform) return alone(id, operands);
    const std::int64_t count = own == Spread::Flat || (own == Spread::Full && grid_.fragments) ? numel(a_.type(id).shape) : 0;
    const auto same = [&](const SharedLoop& loop) { return loop.spread == own && loop.count == count; };
    for (const Id operand : operands) {
      v_.for_each_source(operand, [&](Id source) {
        const bool here = std::ranges::any_of(loops_, [&](const SharedLoop& loop) { return same(loop) && contains(loop.ids, source); });
        if (!here) need(source);
      });
    }
    const auto found = std::ranges::find_if(loops_, same);
    if (found != loops_.end()) found->ids.push_back(id);
    else loops_.push_back({own, count, {id}, {}});
  }
  void flush() {
    flush_reductions();
    while (!loops_.empty()) flush(loops_.front().spread, loops_.front().count);
  }
  void flush(Spread own, std::int64_t count) {
    const auto found = std::ranges::find_if(loops_, [&](const SharedLoop& loop) { return loop.spread == own && loop.count == count; });
    SharedLoop loop = std::move(*found);
    loops_.erase(found);
    const std::set<Id> members(loop.ids.begin(), loop.ids.end());
    for (const Id id : loop.ids) {
      std::optional<Schedule::Recipe> recipe = recipe_for(id, own, members, loop.kept);
      if (recipe) s_.recipes[id] = std::move(*recipe);
      else if (!stays(id, members)) loop.kept.insert(id);
    }
    // Operands of the kept values live in the loop; the other values are computed where they are needed.
    std::set<Id> inner;
    for (const Id id : loop.kept) take(id, members, loop.kept, inner);
    if (loop.kept.empty()) return;
    std::erase_if(loop.ids, [&](Id id) { return !inner.contains(id) && !loop.kept.contains(id); });
    add({Kind::Loop, -1, s_.loops.size()});
    s_.loops.push_back(std::move(loop));
  }
  /// Returns true if nothing outside of its loop needs the value.
  bool stays(Id id, const std::set<Id>& members) const {
    return std::ranges::all_of(a_.users(id), [&](Id user) {
      if (user < 0) return false;
      return members.contains(user) || (tile::has_result(v_.at(user).word) && v_.is_inline(user) && stays(user, members));
    });
  }
  void take(Id id, const std::set<Id>& members, const std::set<Id>& kept, std::set<Id>& inner) const {
    for (const Id operand : v_.at(id).operands) {
      v_.for_each_source(operand, [&](Id source) {
        if (members.contains(source) && !kept.contains(source) && inner.insert(source).second) take(source, members, kept, inner);
      });
    }
  }

  // ---- Values that are computed again.
  /// Returns true if one store is the only user of the value: then it is written once wherever it is written.
  bool only_stored(Id id) const {
    const auto& users = a_.users(id);
    if (users.size() != 1 || users[0] < 0) return false;
    return v_.at(users[0]).word == Word::Store || (tile::has_result(v_.at(users[0]).word) && v_.renames(users[0]) && only_stored(users[0]));
  }
  /// Returns true if the value is a product of floats that one sum over rows takes as soon as it is there, which then rounds once.
  bool only_summed(Id id) const {
    const auto& users = a_.users(id);
    if (grid_.reduces || repeats_ > 0 || v_.at(id).word != Word::Mul || !is_float(a_.type(id).dtype) || users.size() != 1 || users[0] < 0)
      return false;
    const tile::Instruction& user = v_.at(users[0]);
    return user.word == Word::Reduce && user.kind == tile::Reduction::Sum && v_.spread(user.operands[0]) == Spread::Full;
  }
  std::optional<Schedule::Recipe> recipe_for(Id id, Spread own, const std::set<Id>& members, const std::set<Id>& kept) const {
    constexpr int kMostWords = 4;
    const bool summed = only_summed(id);
    if ((!grid_.reduces && !summed) || (own != Spread::Full && own != Spread::Column)) return {};
    const bool always = grid_.staged || summed;  // there are no registers for it, or it needs none
    if (!always && !is_cheap(v_.at(id).word)) return {};
    Schedule::Recipe recipe{1, {}};
    for (const Id operand : v_.at(id).operands) {
      for (const Id source : v_.sources_of(operand)) {
        if (v_.spread(source) != own && v_.spread(source) != Spread::Column) continue;  // one for a row
        if (const auto known = s_.recipes.find(source); known != s_.recipes.end()) {
          recipe.words += known->second.words;
          recipe.held.insert(known->second.held.begin(), known->second.held.end());
        } else if (!members.contains(source) || kept.contains(source)) {
          recipe.held.insert(source);
        } else {
          return {};
        }
      }
    }
    std::size_t bytes = 0;
    for (const Id held : recipe.held) bytes += size_of(a_.type(d_.lies_as_stored(held) ? v_.at(held).operands[0] : held).dtype);
    if (always || only_stored(id)) return recipe;
    const bool less = recipe.held.size() <= 1 || bytes <= std::max<std::size_t>(4, size_of(a_.type(id).dtype));
    return less && recipe.words <= kMostWords ? std::optional(recipe) : std::nullopt;
  }

  // ---- Reductions.
  void reduce(Id id) {
    const auto from = [&](Id one) { return v_.at(one).operands[0]; };
    need(from(id));
    if (!reductions_.empty()) {
      const Id other = reductions_.front();
      if (v_.spread(other) != v_.spread(id) || a_.type(from(other)).shape != a_.type(from(id)).shape ||
          v_.crossing(other) != v_.crossing(id))
        flush_reductions();
    }
    reductions_.push_back(id);
  }
  /// A long column goes into four parts: a fourth of the additions wait for each other, and of their rounding errors meet. Rows that are walked over go
  /// into two: there are few threads to fill the time. Four warps or fewer keep pace with memory as they are (StripPreference::paced_bytes), but not with
  /// tensor cores.
  void flush_reductions() {
    if (reductions_.empty()) return;
    SharedReductions all{.ids = std::exchange(reductions_, {})};
    const Id first = all.ids.front();
    const Spread own = v_.spread(first);
    all.by_rows = own == Spread::Column && grid_.row_steps >= 16 && grid_.column_steps * grid_.vector <= 4;
    const bool keeps_pace = !grid_.groups && (grid_.vector < 4 || grid_.threads() <= 4 * 32);
    const bool halves = own != Spread::Column && v_.crossing(first) == Crossing::Columns && repeats_ > 0 && !keeps_pace &&
                        v_.spread(v_.at(first).operands[0]) != own &&
                        std::ranges::none_of(all.ids, [&](Id id) { return compares_halves(v_, d_, id); });
    all.parts = all.by_rows ? 4 : halves ? 2 : 1;
    add({Kind::Reductions, -1, s_.reductions.size()});
    s_.reductions.push_back(std::move(all));
  }

  const Values& v_;
  const Analysis& a_;
  const ThreadGrid& grid_;
  const Decisions& d_;
  Schedule s_;
  std::vector<Step>* steps_ = nullptr;  // of the region that is open
  std::vector<SharedLoop> loops_;  // that wait
  std::vector<Id> reductions_;  // that wait for each other
  std::map<Id, const DeferredSum*> deferred_;  // by words of the sums that open loops bring together behind them
  int repeats_ = 0, depth_ = 0;  // loops of the program that are open; regions
  bool leaves_ = false;  // the code before this place has left where the kernel is stopped
};

}  // namespace

bool compares_halves(const Values& v, const Decisions& decisions, Id id) {
  const tile::Instruction& self = v.at(id);
  if (self.kind != tile::Reduction::Max && self.kind != tile::Reduction::Min) return false;
  const Spread own = v.spread(self.operands[0]);
  const std::vector<Id> sources = v.sources_of(self.operands[0]);
  if ((own != Spread::Column && own != Spread::Full) || sources.size() != 1 || v.crossing(id) != Values::Crossing::Columns) return false;
  const Id load = sources[0];
  const ThreadGrid& grid = v.grid();
  return v.spread(load) == own && grid.rows_fit() && (grid.columns_fit() || grid.staged) && decisions.lies_as_stored(load) &&
         is_half(v.analysis().type(v.at(load).operands[0]).dtype) && grid.vector % 2 == 0;
}

bool counts_in_fours(const Values& v, Id id) {
  const Spread own = v.spread(id);
  return (own == Spread::Column || own == Spread::Full) && v.grid().vector % 4 == 0 &&
         v.analysis().counts_up(v.at(id).operands[1], false) >= 4 && !v.analysis().counts_by_hint(v.at(id).operands[1]);
}

Schedule schedule_of(const Values& values, const Decisions& decisions) { return Scheduler(values, decisions).run(); }

}  // namespace tegula::gpu
