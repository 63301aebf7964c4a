// Regions, loops and branches; and the order in which everything is written.

#include "tegula/simt/codegen_writer.h"

#include <algorithm>
#include <utility>

namespace tegula::gpu {

using tile::Word;

std::string Writer::body() {
  region(a_.program().body);
  if (waits_) wait_for_launch_ahead({});
  if (one_at_a_time_ && !ring_use_.empty()) line("__syncthreads();");  // the next instance fetches into it
  begin_cluster();
  const std::string written = std::exchange(out_, {});
  if (!exchanges_.empty()) {
    open("if (threadIdx.x == 0)");
    for (const std::size_t counter : exchanges_) line("begin_exchange(shared + parts + " + std::to_string(counter) + ");");
    close();
  }
  if (grid_.cluster > 1) line("cluster_arrive();");
  return out_ + written;
}

void Writer::region(const tile::Region& region) {
  for (auto at = region.body.begin(); at != region.body.end(); ++at) {
    if (waits_ && must_wait(*at)) wait_for_launch_ahead({at, region.body.end()});
    if (!begun_.contains(*at)) instruction(*at);
  }
  flush();
}

// A guarded kernel asks for what it reads before it knows whether it may write.
void Writer::leave_if_stopped() {
  if (!a_.guarded() || grid_.cluster > 1 || leaves_) return;
  line("if (stopped) return;");
  leaves_ = depth_ == 1;  // from there on nobody is stopped
}

void Writer::instruction(Id id) {
  const tile::Instruction& self = at(id);
  if (deferred_.contains(id)) {
    const Deferred& deferred = *deferred_.at(id);
    if (id != deferred.chain.front()) return;
    need(self.operands[0]);
    comment_origin(id);
    const std::string sum = "a" + std::to_string(deferred.parameter);
    const Spread into = spread(deferred.parameter);
    if (deferred.widened < 0) return accumulate({{id, sum}}, into);
    if (deferred.tiles == 1) begin_share(deferred);
    accumulate({{id, "t" + std::to_string(deferred.parameter)}}, into);
    if (deferred.tiles == 1) add_share(deferred);
    return;
  }
  switch (self.word) {
    case Word::Parameter:
    case Word::Constant:
    case Word::Result: return;
    case Word::ProgramId: return line("const long long " + variable(id) + " = id" + std::to_string(self.attribute) + ";");
    case Word::NumPrograms: return line("const long long " + variable(id) + " = g" + std::to_string(self.attribute) + ";");
    case Word::For: return loop(id);
    case Word::If: return branch(id);
    case Word::Store: return leave_if_stopped(), store(id);
    case Word::AtomicAdd: return leave_if_stopped(), atomic_add(id);
    case Word::Assert: return check(id);
    default: break;
  }
  if (is_inline(id) && !self.type.shape.empty()) return;
  switch (self.word) {
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose:
      if (renames(id)) {  // one element as a scalar
        need(self.operands[0]);
        return line(constant_type(self.type) + " " + variable(id) + " = " + element(self.operands[0], Spread::Uniform) + ";");
      }
      return rearrange(id);
    case Word::Load: return load(id);
    case Word::Reduce: return reduce(id);
    case Word::ArgReduce: return arg_reduce(id);
    case Word::Scan: return scan(id);
    case Word::Sort:
    case Word::ArgSort: return sort(id);
    case Word::Dot: return dot(id);
    case Word::RandomBits: return random_words(id);
    default: return share_loop(id);
  }
}

void Writer::assign(Id variable_id, Id value) {
  const Spread own = spread(variable_id);
  loops(own, a_.type(variable_id).shape, Step::Elements,
        [&] { line(variable(variable_id) + place(own) + " = " + element(value, own) + ";"); });
}

/// What a thread has of the next tiles, in their own type.
void Writer::begin_share(const Deferred& deferred) {
  const Id reduce = deferred.chain.front();
  const Spread own = spread(deferred.parameter);
  const Shape& shape = a_.type(deferred.parameter).shape;
  const std::string share = "t" + std::to_string(deferred.parameter), type = scalar_name(at(reduce).type.dtype);
  line(type + " " + share + dimensions(own, shape) + ";");
  loops(own, shape, Step::Elements,
        [&] { line(share + place(own) + " = " + reduction_name(at(reduce).kind) + "<" + type + ">::nothing();"); });
}

void Writer::add_share(const Deferred& deferred) {
  const Spread own = spread(deferred.parameter);
  const std::string name = std::to_string(deferred.parameter) + place(own);
  loops(own, a_.type(deferred.parameter).shape, Step::Elements, [&] { line("a" + name + " += t" + name + ";"); });
}

/// carried = combine(carried, reduction of something else): every thread may add up its own share, and the threads theirs once, at the end. A sum that is
/// carried in a wider type: carried + cast(reduction).
std::optional<Writer::Deferred> Writer::deferrable(const tile::Region& body, std::size_t k) const {
  constexpr Word kWords[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of tile::Reduction
  Deferred deferred;
  deferred.parameter = body.parameters[k + 1];
  deferred.combination = body.results[k];
  const tile::Instruction& combination = at(deferred.combination);
  if (combination.operands.size() != 2 || a_.users(deferred.combination).size() != 1) return {};
  // Behind the loop its results go by the parameters' names; those are not uses of the parameter.
  const auto takes = [&](Id user) {
    const auto& operands = at(user).operands;
    return std::find(operands.begin(), operands.end(), deferred.parameter) != operands.end();
  };
  for (const Id user : a_.users(deferred.parameter))
    if (user >= 0 && user != deferred.combination && takes(user)) return {};
  if (std::find(body.results.begin(), body.results.end(), deferred.parameter) != body.results.end()) return {};
  for (std::size_t side = 0; side < 2; ++side) {
    if (combination.operands[1 - side] != deferred.parameter) continue;
    Id from = combination.operands[side], widened = -1;
    const bool in_loop = std::find(body.body.begin(), body.body.end(), from) != body.body.end();
    if (at(from).word == Word::Cast && in_loop && a_.users(from).size() == 1 && combination.word == Word::Add) {
      widened = from;
      from = at(from).operands[0];
    }
    std::vector<Id> chain;
    while (at(from).word == Word::Reduce && a_.users(from).size() == 1 &&
           kWords[static_cast<std::size_t>(at(from).kind)] == combination.word) {
      if (!chain.empty() && at(from).kind != at(chain[0]).kind) return {};
      chain.insert(chain.begin(), from);
      from = at(from).operands[0];
    }
    if (chain.empty() || spread(from) == Spread::Flat || spread(deferred.parameter) == Spread::Flat) continue;
    bool here = true;
    for (const Id reduce : chain) here = here && std::find(body.body.begin(), body.body.end(), reduce) != body.body.end();
    if (!here) continue;
    deferred.chain = chain;
    deferred.widened = widened;
    return deferred;
  }
  return {};
}

/// Whether what the loop leaves is only stored as it is, so that the threads that act are all that need it.
bool Writer::only_stored_behind(const Deferred& deferred) const {
  const auto stored = [&](Id user, Id value) {
    return user >= 0 && at(user).word == Word::Store && a_.resolve(at(user).operands[1]) == value &&
           a_.type(at(user).operands[0]).shape == a_.type(value).shape;
  };
  return std::ranges::all_of(a_.users(deferred.parameter), [&](Id user) {
    if (user == deferred.combination || stored(user, deferred.parameter)) return true;
    return deferred.widened >= 0 && user >= 0 && at(user).word == Word::Cast &&
           std::ranges::all_of(a_.users(user), [&](Id behind) { return stored(behind, user); });
  });
}

/// Whether the tiles of all iterations are one tall tile: each begins with the row behind the last one of another, so that none touches what
/// another does.
bool Writer::moves_on(const tile::Region& body, Id pointer) const {
  const Shape& shape = a_.type(pointer).shape;
  const Form form = a_.affine(pointer);
  if (shape.rank() != 2 || form.rest >= 0 || form.root < 0 || form.base.known) return false;
  const Id counter = body.parameters[0];
  return std::any_of(body.body.begin(), body.body.end(), [&](Id id) {
    const tile::Instruction& self = at(id);
    if (self.word != Word::Mul || !self.type.shape.empty()) return false;
    const Id first = self.operands[0], second = self.operands[1];
    const Id factor = first == counter ? second : second == counter ? first : -1;
    if (factor < 0 || at(factor).word != Word::Constant || at(factor).integer != shape[0]) return false;
    return form.base.text == multiply({false, 0, a_.name(id), 0}, form.stride[0]).text;
  });
}

void Writer::loop(Id id) {
  flush();
  begin_cluster();
  ++repeats_;
  const tile::Instruction& self = at(id);
  const tile::Region& body = self.regions[0];
  const std::size_t count = body.results.size();
  comment_origin(id);
  std::vector<std::optional<Deferred>> deferred(count);
  for (std::size_t k = 0; k < count; ++k) deferred[k] = deferrable(body, k);
  for (std::size_t k = 0; k < count; ++k) {
    const Id parameter = body.parameters[k + 1];
    declare(parameter);
    assign(parameter, self.operands[k + 3]);
    if (!deferred[k]) continue;
    const tile::Type& type = a_.type(parameter);
    const std::string op = reduction_name(at(deferred[k]->chain[0]).kind);
    const std::string name = "a" + std::to_string(parameter);
    line(type_name(type) + " " + name + dimensions(spread(parameter), type.shape) + ";");
    loops(spread(parameter), type.shape, Step::Elements,
          [&] { line(name + place(spread(parameter)) + " = " + op + "<" + type_name(type) + ">::nothing();"); });
    for (const Id reduce : deferred[k]->chain) deferred_[reduce] = &*deferred[k];
    deferred_[deferred[k]->combination] = &*deferred[k];
    if (deferred[k]->widened < 0) continue;
    deferred_[deferred[k]->widened] = &*deferred[k];
    // Conversions cost as much as many additions: a few numbers are added first.
    constexpr std::int64_t kNumbers = 16;
    const std::int64_t of_a_tile = held_across(spread(at(deferred[k]->chain.front()).operands[0])) / held_across(spread(parameter));
    deferred[k]->tiles = std::max<std::int64_t>(1, kNumbers / std::max<std::int64_t>(1, of_a_tile));
    if (deferred[k]->tiles == 1) continue;
    begin_share(*deferred[k]);
    line("int tiles" + std::to_string(parameter) + " = 0;");
  }
  const Id induction = body.parameters[0];
  const std::string type = type_name(a_.type(induction)), i = variable(induction);
  const Prefetch prefetch = plan_prefetch(body);
  // A thread's copies would lie where others still read what the loop before has fetched for them.
  const std::string ring_use = ring_use_;
  const bool ring_is_read = prefetch.stages > 0 && !ring_use.empty() && ring_use != prefetch.layout;
  for (const auto& [load, place] : prefetch.places) order_memory(at(load).operands[0], false);  // what was written before has arrived
  if (prefetch.stages > 0) open("");
  for (const auto& [load, place] : prefetch.places) prefetched_[load] = &prefetch;
  // What an iteration touches is what the one before may have touched: once through is not enough to see that.
  const auto reads = read_, writes = written_;
  const std::string before = out_;
  const int names = names_;
  const std::size_t parts = part_bytes_;
  const std::string origin = origin_;
  const auto packed = packed_;
  const auto recipes = recipes_;
  const bool straight = std::none_of(body.body.begin(), body.body.end(), [&](Id inner) { return !at(inner).regions.empty(); });
  const bool outer_apart = apart_;
  const int meetings = meetings_;
  apart_ = false;
  for (int pass = 0; pass < 2; ++pass) {
    apart_ = pass > 0 && straight && meetings_ - meetings > 1;
    packed_ = packed, recipes_ = recipes;
    out_ = before, names_ = names, origin_ = origin, part_bytes_ = parts;
    const std::string begin = a_.name(self.operands[0]), end = a_.name(self.operands[1]), step = a_.name(self.operands[2]);
    if (ring_is_read) line("__syncthreads();");
    begin_prefetch(prefetch, body, begin, end, step);
    open("for (" + type + " " + i + " = " + begin + "; " + i + " < " + end + "; " + i + " += " + step + ")");
    continue_prefetch(prefetch, body, i, end, step);
    region(body);
    if (prefetch.stages > 0) line("stage = stage == " + std::to_string(prefetch.stages - 1) + " ? 0 : stage + 1;");
    // All that is carried on is read before any of it changes.
    for (std::size_t k = 0; k < count; ++k) {
      if (deferred[k]) continue;
      const Id parameter = body.parameters[k + 1];
      const tile::Type& own = a_.type(parameter);
      line(type_name(own) + " next" + std::to_string(k) + dimensions(spread(parameter), own.shape) + ";");
      loops(spread(parameter), own.shape, Step::Elements, [&] {
        line("next" + std::to_string(k) + place(spread(parameter)) + " = " + element(body.results[k], spread(parameter)) + ";");
      });
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (deferred[k]) continue;
      const Id parameter = body.parameters[k + 1];
      loops(spread(parameter), a_.type(parameter).shape, Step::Elements,
            [&] { line(variable(parameter) + place(spread(parameter)) + " = next" + std::to_string(k) + place(spread(parameter)) + ";"); });
    }
    for (const auto& one : deferred) {
      if (!one || one->tiles == 1) continue;
      const std::string parameter = std::to_string(one->parameter), tiles = "tiles" + parameter;
      open("if (++" + tiles + " == " + std::to_string(one->tiles) + ")");
      line(tiles + " = 0;");
      add_share(*one);
      const Spread own = spread(one->parameter);
      loops(own, a_.type(one->parameter).shape, Step::Elements, [&] { line("t" + parameter + place(own) + " = 0.0f;"); });
      close();
    }
    close();
    constexpr Id kEarlier = -2;  // whatever pointer it was, in this iteration it points elsewhere
    for (auto* touched : {&read_, &written_}) {
      for (auto& [root, pointers] : *touched) {
        std::set<Id> earlier;
        for (const Id pointer : pointers) earlier.insert(pointer >= 0 && moves_on(body, pointer) ? pointer : kEarlier);
        pointers = std::move(earlier);
      }
    }
  }
  apart_ = outer_apart;
  packed_ = packed, recipes_ = recipes;
  for (const auto& [load, place] : prefetch.places) prefetched_.erase(load);
  if (prefetch.stages > 0) close();
  if (prefetch.stages > 0) ring_use_ = prefetch.layout;
  else if (ring_use_.empty()) ring_use_ = ring_use;  // there may be no iteration
  for (const auto& [root, pointers] : reads) read_[root].insert(pointers.begin(), pointers.end());
  for (const auto& [root, pointers] : writes) written_[root].insert(pointers.begin(), pointers.end());
  --repeats_;
  for (const auto& one : deferred) {
    if (one && one->tiles > 1) add_share(*one);
  }
  combine_deferred(deferred, static_cast<std::size_t>(prefetch.stages) * prefetch.stage_bytes);
}

/// What the threads have added up for themselves in a loop; `idle_bytes` of the ring have nothing in them any more.
void Writer::combine_deferred(const std::vector<std::optional<Deferred>>& all, std::size_t idle_bytes) {
  struct Sum {
    Id parameter;
    std::string op, name;
    bool columns = false, rows = false, for_first = false;
  };
  std::vector<Sum> sums;
  for (const auto& deferred : all) {
    if (!deferred) continue;
    const Id parameter = deferred->parameter;
    Sum sum{.parameter = parameter,
            .op = reduction_name(at(deferred->chain[0]).kind) + "<" + type_name(a_.type(parameter)) + ">",
            .name = "a" + std::to_string(parameter)};
    for (const Id reduce : deferred->chain) {
      sum.columns = sum.columns || crossing(reduce) == Crossing::Columns;
      sum.rows = sum.rows || crossing(reduce) == Crossing::Rows;
    }
    sum.for_first = sum.rows && !sum.columns && only_stored_behind(*deferred) && !acts(spread(parameter)).empty();
    sums.push_back(sum);
    for (const Id reduce : deferred->chain) deferred_.erase(reduce);
    deferred_.erase(deferred->combination);
    deferred_.erase(deferred->widened);
  }
  std::vector<bool> done(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    const Spread own = spread(sum.parameter);
    const tile::Type& type = a_.type(sum.parameter);
    std::vector<std::string> alike;  // as many as there is room for
    std::vector<std::size_t> which;
    for (std::size_t j = i; j < sums.size() && sum.for_first && !done[i]; ++j) {
      if (!sums[j].for_first || sums[j].op != sum.op || a_.type(sums[j].parameter).shape != type.shape) continue;
      alike.push_back(sums[j].name);
      which.push_back(j);
    }
    while (!alike.empty() && !combine_rows_for_first(sum.op, alike, own, size_of(type.dtype), idle_bytes)) alike.pop_back();
    for (std::size_t j = 0; j < alike.size(); ++j) done[which[j]] = true;
    if (!done[i]) combine_across(sum.op, sum.name, sum.columns, sum.rows, own, size_of(type.dtype), idle_bytes);
    loops(own, type.shape, Step::Elements, [&] {
      const std::string target = variable(sum.parameter) + place(own);
      line(target + " = " + sum.op + "::of(" + target + ", " + sum.name + place(own) + ");");
    });
  }
}

void Writer::branch(Id id) {
  flush();
  begin_cluster();
  const tile::Instruction& self = at(id);
  comment_origin(id);
  std::map<std::size_t, Id> results;  // the variables behind the Result words
  for (const Id user : a_.users(id)) {
    if (user >= 0 && at(user).word == Word::Result && a_.resolve(user) == user)
      results[static_cast<std::size_t>(at(user).attribute)] = user;
  }
  for (const auto& [k, result] : results) declare(result);
  const auto reads = read_, writes = written_;
  const std::string ring_use = ring_use_;
  bool ring_stays = true;
  for (std::size_t side = 0; side < 2; ++side) {
    ring_use_ = ring_use;
    if (side == 0) open("if (" + a_.name(self.operands[0]) + ")");
    else open("else");
    region(self.regions[side]);
    for (const auto& [k, result] : results) assign(result, self.regions[side].results[k]);
    close();
    ring_stays = ring_stays && ring_use_ == ring_use;
  }
  ring_use_ = ring_stays ? ring_use : "of one side";
  for (const auto& [root, pointers] : reads) read_[root].insert(pointers.begin(), pointers.end());
  for (const auto& [root, pointers] : writes) written_[root].insert(pointers.begin(), pointers.end());
}

}  // namespace tegula::gpu
