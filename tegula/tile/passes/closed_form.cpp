#include "tegula/tile/passes/closed_form.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tegula/tile/passes/dead_code.h"

namespace tegula::tile {
namespace {

class ClosedForms {
 public:
  explicit ClosedForms(Program program) : program_(std::move(program)) {}

  Program run() {
    Region body = std::move(program_.body);
    visit(body);
    program_.body = std::move(body);
    if (replaced_.empty()) return std::move(program_);
    for (Instruction& instruction : program_.instructions) {
      rename(instruction.operands);
      for (Region& region : instruction.regions) rename(region.results);
    }
    rename(program_.body.results);
    return remove_dead_code(std::move(program_));
  }

 private:
  /// One step of what a carried value moves by: param + amount, or param - amount.
  struct Step {
    Word word;  // Add, Sub
    Id amount;
  };

  /// How far the loop's counter has come, a multiple of the loop's step, and in how many iterations.
  struct Distance {
    Id id = -1, iterations = -1;
  };

  Instruction& at(Id id) { return program_.instructions[static_cast<std::size_t>(id)]; }

  Id now(Id id) const {
    for (auto found = replaced_.find(id); found != replaced_.end(); found = replaced_.find(id)) id = found->second;
    return id;
  }
  void rename(std::vector<Id>& ids) const {
    for (Id& id : ids) id = now(id);
  }

  void visit(Region& region) {
    std::vector<Id> body;
    for (const Id id : region.body) {
      // Regions are taken out meanwhile: instructions move in memory as they are added.
      std::vector<Region> inner = std::move(at(id).regions);
      for (Region& r : inner) visit(r);
      at(id).regions = std::move(inner);
      if (at(id).word == Word::For) close(id, body);
      else body.push_back(id);
    }
    region.body = std::move(body);
  }

  /// Appends the loop to the instructions around it, with what goes ahead of it and behind it.
  void close(Id loop, std::vector<Id>& around) {
    Region body = std::move(at(loop).regions[0]);
    inside_.clear();
    inside_.insert(body.parameters.begin(), body.parameters.end());
    inside_.insert(body.body.begin(), body.body.end());
    std::vector<Id> ahead, first, behind;  // before the loop; at the begin of its body; after the loop
    std::vector<std::pair<Id, Id>> results;  // by place among those carried: the parameter, and what it is behind the loop
    std::vector<std::size_t> kept;
    of_body_ = of_end_ = {};
    for (std::size_t k = 0; k < body.results.size(); ++k) {
      const auto steps = steps_of(body, k);
      if (!steps) {
        kept.push_back(k);
        continue;
      }
      for (const Step& step : *steps) hoist(now(step.amount), body, ahead);
      const Id initial = now(at(loop).operands[k + 3]), parameter = body.parameters[k + 1];
      const Line where = at(parameter).where;
      Id inner = initial, last = initial;
      for (const Step& step : *steps) {
        where_ = where;
        if (of_body_.id < 0) of_body_.id = offset(loop, body.parameters[0], first);
        if (of_end_.id < 0) of_end_.id = span(loop, behind);
        inner = moved(inner, step, of_body_, loop, first);
        last = moved(last, step, of_end_, loop, behind);
      }
      inside_.insert(first.begin(), first.end());
      results.emplace_back(static_cast<Id>(k), last);
      replaced_[parameter] = inner;
    }
    around.insert(around.end(), ahead.begin(), ahead.end());
    if (kept.size() < body.results.size()) drop(loop, body, kept, results);
    body.body.insert(body.body.begin(), first.begin(), first.end());
    at(loop).regions[0] = std::move(body);
    around.push_back(loop);
    around.insert(around.end(), behind.begin(), behind.end());
  }

  /// The additions to and subtractions from the value carried in place k, if the loop does nothing else to it.
  std::optional<std::vector<Step>> steps_of(const Region& body, std::size_t k) {
    const Id parameter = body.parameters[k + 1];
    const Type type = at(parameter).type;
    if (!type.pointer && (!is_integer(type.dtype) || type.dtype == boolean)) return {};
    std::vector<Step> steps;
    for (Id value = now(body.results[k]); value != parameter;) {
      const Instruction& self = at(value);
      if ((self.word != Word::Add && self.word != Word::Sub) || !inside_.contains(value)) return {};
      const Id a = now(self.operands[0]), b = now(self.operands[1]);
      const bool turned = self.word == Word::Add && !self.type.pointer && is_invariant(a) && !is_invariant(b);
      if (!is_invariant(turned ? a : b)) return {};
      steps.insert(steps.begin(), {self.word, turned ? a : b});
      value = turned ? b : a;
    }
    return steps;
  }

  /// The same in all iterations, and computed from what is known ahead of the loop without reading memory.
  bool is_invariant(Id id) {
    if (!inside_.contains(id)) return true;
    const Instruction& self = at(id);
    if (!is_elementwise(self.word) && self.word != Word::Constant && self.word != Word::Arange && self.word != Word::ProgramId &&
        self.word != Word::NumPrograms && (self.word < Word::Broadcast || self.word > Word::Transpose))
      return false;
    return std::ranges::all_of(self.operands, [&](Id operand) { return is_invariant(now(operand)); });
  }

  /// Moves what is the same in all iterations ahead of the loop.
  void hoist(Id id, Region& body, std::vector<Id>& ahead) {
    if (inside_.erase(id) == 0) return;
    for (const Id operand : std::vector<Id>(at(id).operands)) hoist(now(operand), body, ahead);
    std::erase(body.body, id);
    ahead.push_back(id);
  }

  /// `from` when the loop has come so far.
  Id moved(Id from, const Step& step, Distance& distance, Id loop, std::vector<Id>& to) {
    const Type type = at(from).type, amount = at(step.amount).type;
    const Id by = now(at(loop).operands[2]);
    Id product = of_each_step(step.amount, by, distance.id, to);
    if (product < 0) {
      if (distance.iterations < 0) distance.iterations = emit(Word::Div, scalar(i64), {distance.id, by}, to);
      product = emit(Word::Mul, amount, {step.amount, as(amount.dtype, distance.iterations, to)}, to);
    }
    return emit(step.word, type, {from, product}, to);
  }

  /// amount · (distance / by) without a division, where by divides the amount as it is written; -1 where it does not.
  Id of_each_step(Id amount, Id by, Id distance, std::vector<Id>& to) {
    const DType dtype = at(amount).type.dtype;
    const Type type = at(amount).type;
    if (const auto each = divided(amount, by)) return emit(Word::Mul, type, {number(*each, type, to), as(dtype, distance, to)}, to);
    if (amount == by) return as(dtype, distance, to);
    if (at(amount).word != Word::Mul) return -1;
    for (const std::size_t side : {0u, 1u}) {
      const Id factor = now(at(amount).operands[side]), other = now(at(amount).operands[1 - side]);
      const auto each = factor == by ? std::optional<std::int64_t>(1) : divided(factor, by);
      if (!each || at(other).type != type) continue;
      const Id times = emit(Word::Mul, scalar(dtype), {as(dtype, distance, to), number(*each, scalar(dtype), to)}, to);
      return emit(Word::Mul, type, {other, times}, to);
    }
    return -1;
  }

  /// Both known, and the quotient whole.
  std::optional<std::int64_t> divided(Id amount, Id by) {
    const auto a = constant_of(amount), b = constant_of(by);
    if (!a || !b || *b < 1 || *a % *b != 0) return {};
    return *a / *b;
  }
  std::optional<std::int64_t> constant_of(Id id) {
    if (at(id).word == Word::Broadcast) id = now(at(id).operands[0]);
    if (at(id).word != Word::Constant) return {};
    return at(id).integer;
  }

  /// counter - begin.
  Id offset(Id loop, Id counter, std::vector<Id>& to) { return emit(Word::Sub, scalar(i64), {counter, now(at(loop).operands[0])}, to); }

  /// The number of iterations times the step.
  Id span(Id loop, std::vector<Id>& to) {
    const Id begin = now(at(loop).operands[0]), end = now(at(loop).operands[1]), step = now(at(loop).operands[2]);
    const Type type = scalar(i64);
    const Id zero = number(0, type, to), length = emit(Word::Max, type, {emit(Word::Sub, type, {end, begin}, to), zero}, to);
    if (constant_of(step) == 1) return length;
    const Id up = emit(Word::Add, type, {length, emit(Word::Sub, type, {step, number(1, type, to)}, to)}, to);
    return emit(Word::Mul, type, {emit(Word::Div, type, {up, step}, to), step}, to);
  }

  static Type scalar(DType dtype) { return {dtype, false, {}}; }

  Id as(DType dtype, Id value, std::vector<Id>& to) {
    if (at(value).type.dtype == dtype) return value;
    Type type = at(value).type;
    type.dtype = dtype;
    return emit(Word::Cast, type, {value}, to);
  }

  Id number(std::int64_t value, const Type& type, std::vector<Id>& to) {
    Instruction made{.word = Word::Constant, .type = scalar(type.dtype), .operands = {}, .integer = value, .regions = {}, .where = where_};
    const Id id = append(std::move(made), to);
    return type.shape.empty() ? id : emit(Word::Broadcast, type, {id}, to);
  }

  /// Without what changes nothing.
  Id emit(Word word, const Type& type, std::vector<Id> operands, std::vector<Id>& to) {
    if (operands.size() == 2 && word != Word::Max) {
      const auto a = constant_of(operands[0]), b = constant_of(operands[1]);
      const auto is = [&](std::size_t side) { return at(operands[side]).type == type; };
      if ((word == Word::Add || word == Word::Sub) && b == 0 && is(0)) return operands[0];
      if ((word == Word::Mul || word == Word::Div) && b == 1 && is(0)) return operands[0];
      if (word == Word::Mul && a == 1 && is(1)) return operands[1];
      if (word == Word::Sub && a && b && type == scalar(i64))
        return number(static_cast<std::int64_t>(static_cast<std::uint64_t>(*a) - static_cast<std::uint64_t>(*b)), type, to);
    }
    return append({.word = word, .type = type, .operands = std::move(operands), .regions = {}, .where = where_}, to);
  }

  Id append(Instruction instruction, std::vector<Id>& to) {
    program_.instructions.push_back(std::move(instruction));
    to.push_back(static_cast<Id>(program_.instructions.size()) - 1);
    return to.back();
  }

  /// Takes those that are not kept off the loop, and gives what names a result the new place or value.
  void drop(Id loop, Region& body, const std::vector<std::size_t>& kept, const std::vector<std::pair<Id, Id>>& closed) {
    for (Id id = 0; id < static_cast<Id>(program_.instructions.size()); ++id) {
      Instruction& self = at(id);
      if (self.word != Word::Result || self.operands[0] != loop) continue;
      const auto k = static_cast<std::size_t>(self.attribute);
      if (const auto place = std::ranges::find(kept, k); place != kept.end()) {
        self.attribute = place - kept.begin();
      } else {
        replaced_[id] = std::ranges::find(closed, static_cast<Id>(k), &std::pair<Id, Id>::first)->second;
      }
    }
    std::vector<Id> operands(at(loop).operands.begin(), at(loop).operands.begin() + 3), parameters{body.parameters[0]}, results;
    for (const std::size_t k : kept) {
      operands.push_back(at(loop).operands[k + 3]);
      parameters.push_back(body.parameters[k + 1]);
      results.push_back(body.results[k]);
      at(parameters.back()).attribute = static_cast<std::int64_t>(parameters.size()) - 1;
    }
    at(loop).operands = std::move(operands);
    body.parameters = std::move(parameters), body.results = std::move(results);
  }

  Program program_;
  std::unordered_map<Id, Id> replaced_;
  // For the loop under examination: its parameters and the instructions of its body; the distances within the body and to its end.
  std::unordered_set<Id> inside_;
  Distance of_body_, of_end_;
  Line where_{};
};

}  // namespace

Program close_forms(Program program) { return ClosedForms(std::move(program)).run(); }

}  // namespace tegula::tile
