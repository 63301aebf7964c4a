#include "tegula/tile/language/repeat.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace tegula::tile::language {
namespace {

Value constant_like(const Instruction& self, Builder& to) {
  return is_float(self.type.dtype) ? to.constant(self.real, self.type.dtype) : to.constant(self.integer, self.type.dtype);
}

class Repetition {
 public:
  Repetition(const Builder& from, Builder& to, std::map<Id, Value>& known)
      : sentences_(from.sentences()),
        from_(from.program()),
        to_(to),
        known_(known) {}

  void say(const Region& region) {
    for (const Id id : region.body)
      if (!known_.contains(id)) say(id);
  }

 private:
  bool usable(const Instruction& self) const {
    return self.word != Word::Parameter &&
           std::ranges::all_of(self.operands, [&](Id operand) { return known_.contains(operand) || results_.contains(operand); });
  }
  Value operand(const Instruction& self, std::size_t i) const { return known_.at(self.operands[i]); }
  std::vector<Value> run(const Region& region) {
    say(region);
    std::vector<Value> results;
    for (const Id result : region.results) results.push_back(known_.at(result));
    return results;
  }

  void say(Id id) {
    const Instruction& self = from_[id];
    if (!usable(self)) return;
    to_.set_location(self.where);
    switch (self.word) {
      case Word::For: results_[id] = say_loop(self); return;
      case Word::While: results_[id] = say_while(self); return;
      case Word::If:
        results_[id] = to_.if_(operand(self, 0), [&] { return run(self.regions[0]); }, [&] { return run(self.regions[1]); });
        return;
      case Word::Result: known_[id] = results_.at(self.operands[0])[static_cast<std::size_t>(self.attribute)]; return;
      case Word::Constant: known_[id] = constant_like(self, to_); return;
      case Word::Print: to_.print(from_.texts[static_cast<std::size_t>(self.attribute)].text, operand(self, 0), self.where); return;
      case Word::InlineAsm: {
        std::vector<Value> operands;
        for (std::size_t i = 0; i < self.operands.size(); ++i) operands.push_back(operand(self, i));
        known_[id] = to_.inline_asm(from_.texts[static_cast<std::size_t>(self.attribute)], std::move(operands), self.type.dtype);
        return;
      }
      case Word::Assert: {
        const auto& sentence = sentences_[static_cast<std::size_t>(self.attribute - Builder::kFirstSentence)];
        to_.check(operand(self, 0), operand(self, 1), sentence.text, sentence.where);
        return;
      }
      default: break;
    }
    std::vector<Id> operands;
    for (const Id one : self.operands) operands.push_back(known_.at(one).id());
    known_[id] = to_.emit(self.word, self.type, std::move(operands), self.attribute, self.kind, self.attribute2);
  }

  std::vector<Value> say_loop(const Instruction& self) {
    std::vector<Value> initial;
    for (std::size_t i = 3; i < self.operands.size(); ++i) initial.push_back(operand(self, i));
    const Region& body = self.regions[0];
    return to_.for_(
        operand(self, 0), operand(self, 1), operand(self, 2), initial,
        [&](Value counter, std::span<const Value> carried) {
          known_[body.parameters[0]] = counter;
          for (std::size_t k = 0; k < carried.size(); ++k) known_[body.parameters[k + 1]] = carried[k];
          return run(body);
        },
        self.attribute);
  }

  std::vector<Value> say_while(const Instruction& self) {
    std::vector<Value> initial;
    for (std::size_t i = 1; i < self.operands.size(); ++i) initial.push_back(operand(self, i));
    const Region& body = self.regions[0];
    return to_.while_(operand(self, 0), initial, [&](std::span<const Value> carried) {
      for (std::size_t k = 0; k < carried.size(); ++k) known_[body.parameters[k + 1]] = carried[k];
      std::vector<Value> results = run(body);
      const Value again = results.back();
      results.pop_back();
      return Builder::Next{again, std::move(results)};
    });
  }

  const std::vector<Builder::Sentence>& sentences_;
  const Program& from_;
  Builder& to_;
  std::map<Id, Value>& known_;
  std::map<Id, std::vector<Value>> results_;
};

}  // namespace

void repeat(const Builder& from, const Region& region, Builder& to, std::map<Id, Value>& known) { Repetition(from, to, known).say(region); }

}  // namespace tegula::tile::language
