#include "tegula/simt/verify/rings.h"

#include <map>
#include <optional>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

constexpr std::int64_t kIterations = 16;

bool has_ring(const Statement& statement) {
  const auto* const loop = statement.as<For>();
  return loop && loop->program && !loop->program->ring.empty();
}

/// A thread that knows numbers only: those of registers and of memory it leaves out.
class Thread {
 public:
  Thread(const For& loop, std::set<std::string>& faults)
      : loop_(loop),
        faults_(faults),
        step_(loop.step.kind == Kind::Number ? loop.step.integer : 1),
        begin_(loop.begin.kind == Kind::Number ? loop.begin.integer
               : loop.begin == loop.step       ? step_
                                               : 0) {}

  /// The block that has the loop.
  void run(const Block& block) {
    for (const Statement& statement : block) {
      if (!has_ring(statement)) {
        follow(statement);
        continue;
      }
      for (iteration_ = 0; iteration_ < kIterations; ++iteration_) {
        known_[loop_.name.str()] = begin_ + iteration_ * step_;
        walk(loop_.body);
      }
    }
  }

 private:
  struct Copy {
    std::int64_t iteration = 0;  // that needs it
    int group = 0;
  };

  void walk(const Block& block) {
    for (const Statement& statement : block) follow(statement);
  }
  void follow(const Statement& statement) {
    if (const auto* copy = statement.as<CopyAhead>()) return begin(*copy);
    if (statement.as<CloseCopies>()) return void(++group_);
    if (const auto* wait = statement.as<WaitForCopies>()) return void(complete_ = std::max(complete_, group_ - wait->unfinished));
    for_each_expression(statement, [&](const Expression& e) { for_each_part(e, [&](const Expression& part) { read(part); }); });
    if (const auto* one = statement.as<Declare>()) {
      if (one->value) learn(one->what.name, *one->value);
    } else if (const auto* one = statement.as<Assign>()) {
      if (one->target.kind == Kind::Name && !statement.when) learn(one->target.name, one->value);
    } else if (const auto* loop = statement.as<Loop>()) {
      const bool counts_stages = loop->name == "s";
      for (std::int64_t i = loop->begin; i < (counts_stages ? loop->end : loop->begin + 1); ++i)
        known_[loop->name.str()] = i, walk(loop->body);
    } else {
      const auto before = known_;
      for_each_block(statement, [&](const Block& inner) { walk(inner); });
      known_ = before;
    }
  }
  void learn(Name name, const Expression& e) {
    if (const auto number = value(e)) known_[name.str()] = *number;
    else known_.erase(name.str());
  }

  void begin(const CopyAhead& copy) {
    const auto place = value(copy.place), iteration = value(loop_.name);
    if (place && iteration) copies_[*place] = {(*iteration - begin_) / step_, group_};
  }
  void read(const Expression& e) {
    if (e.kind != Kind::Reinterpret) return;
    bool of_ring = false;
    for_each_part(e, [&](const Expression& part) { of_ring = of_ring || part.is_name("ring"); });
    const auto place = of_ring ? value(e.operands[0]) : std::nullopt;
    if (!place) return;
    const auto copy = copies_.find(*place);
    if (copy == copies_.end()) return void(faults_.insert("an iteration reads a place of the ring that nothing was copied to"));
    if (copy->second.group < complete_) {
      if (copy->second.iteration != iteration_) faults_.insert("an iteration reads a stage of the ring that has another's numbers");
    } else if (copy->second.iteration == iteration_) {
      faults_.insert("an iteration reads the ring before its copies have arrived");
    } else {
      faults_.insert("a stage of the ring is filled anew while it may still be read");
    }
  }

  /// With the first thread's and the first register's numbers; where the loop's begin and step are not known, from 0 on by 1.
  std::optional<std::int64_t> value(const Expression& e) const {
    if (e == loop_.begin) return begin_;
    if (e == loop_.step) return step_;
    switch (e.kind) {
      case Kind::Name:
        if (const auto known = known_.find(e.name.str()); known != known_.end()) return known->second;
        return e.is_name("ring") || e.is_name("r") || e.is_name("c") || e.is_name("threadIdx.x") ? std::optional<std::int64_t>(0)
                                                                                                 : std::nullopt;
      case Kind::Integer: return e.integer;
      case Kind::Number: return is_float(e.type.dtype) ? std::nullopt : std::optional(e.integer);
      case Kind::Group:
      case Kind::Cast: return value(e.operands[0]);
      case Kind::Choose: {
        const auto when = value(e.operands[0]);
        return when ? value(e.operands[*when ? 1 : 2]) : std::nullopt;
      }
      case Kind::Binary: {
        const auto a = value(e.operands[0]), b = value(e.operands[1]);
        if (!a || !b) return {};
        if (e.name == "+") return *a + *b;
        if (e.name == "-") return *a - *b;
        if (e.name == "*") return *a * *b;
        if (e.name == "<") return *a < *b;
        if (e.name == "==") return *a == *b;
        return {};
      }
      default: return {};
    }
  }

  const For& loop_;
  std::set<std::string>& faults_;
  std::int64_t step_, begin_;
  std::map<std::string, std::int64_t> known_;
  std::map<std::int64_t, Copy> copies_;  // the last one into each place
  int group_ = 0, complete_ = 0;         // numbers of closed and of arrived groups of copies
  std::int64_t iteration_ = 0;
};

}  // namespace

void check_rings(const Kernel& kernel, std::set<std::string>& faults) {
  for_each_statement(kernel.body, [&](const Statement& statement) {
    const auto* const scope = statement.as<Scope>();
    if (!scope) return;
    for (const Statement& inner : scope->body)
      if (has_ring(inner)) Thread(*inner.as<For>(), faults).run(scope->body);
  });
}

}  // namespace tegula::simt
