#include "tegula/simt/passes/wait_late.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;
using Names = std::vector<Name>;

bool contains(const Names& names, Name name) { return std::ranges::find(names, name) != names.end(); }
bool meet(const Names& a, const Names& b) {
  return std::ranges::any_of(a, [&](Name name) { return contains(b, name); });
}

bool is_mark(const Statement& statement) {
  return statement.as<Origin>() || statement.as<Note>() || statement.as<Touch>() || statement.as<UseScratch>();
}

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

/// Returns true if the statement itself may be executed while the launch ahead runs.
bool is_harmless(const Statement& statement) {
  if (const auto* touch = statement.as<Touch>()) return touch->steady && !touch->writes;
  return std::visit(
      [](const auto& held) {
        using T = std::remove_cvref_t<decltype(unboxed(held))>;
        return is_one_of<T, Origin, Note, Declare, Assign, Keep, Unused, Loop, EachOfVector, For, Branch, Scope, Barrier, LoadWide, Philox,
                         CopyAsync, AwaitCopies, Combine, Scan, Sort, Shuffle, Convert, Reduced, UseScratch>;
      },
      statement.what);
}
/// Returns true if the statement itself only computes in registers, or brings together what threads hold there.
bool is_computing(const Statement& statement) {
  if (const auto* declare = statement.as<Declare>()) return !declare->value || !declare->constant;
  return statement.as<Assign>() || statement.as<Loop>() || statement.as<EachOfVector>() || statement.as<Combine>() ||
         statement.as<Reduced>() || statement.as<AwaitCopies>();
}
template <class F>
void for_each_within(const Statement& statement, F&& f) {
  for_each_block(statement, [&](const Block& inner) { for_each_statement(inner, f); });
}
template <class F>
void for_each_named(const Expression& whole, F&& f) {
  for_each_part(whole, [&](const Expression& e) {
    if (e.kind == Kind::Name || e.kind == Kind::Held || e.kind == Kind::Element) f(e.name);
  });
}
/// Returns true if the statement reads memory of tensors.
bool reads_memory(const Statement& statement) {
  bool reads = statement.as<LoadWide>() || statement.as<CopyAsync>();
  for_each_expression(statement, [&](const Expression& whole) {
    for_each_part(whole,
                  [&](const Expression& e) { reads = reads || e.kind == Kind::Load || (e.kind == Kind::Call && e.name == "alone"); });
  });
  return reads;
}

/// Statements of the kernel's body that stay together: one, with what is ahead of it for its sake.
struct Part {
  Block statements;
  std::optional<Origin> origin;  // what holds for the first of them, where they do not say
  Names read, written;           // without what lies within
  bool waits = false;            // for the launch ahead
  bool computes = false;         // nothing else
  bool loads = false;            // what no launch writes
  bool crosses = false;          // threads need each other

  void look() {
    computes = true;
    bool reads = false;
    Names within;
    const auto note = [&](const Statement& one) {
      waits = waits || !is_harmless(one);
      reads = reads || reads_memory(one);
      crosses = crosses || one.as<Combine>() || one.as<Barrier>();
      if (const auto* convert = one.as<Convert>()) read.push_back(convert->source.name), written.push_back(convert->target.name);
      for_each_target(one, [&](const Expression& target) { for_each_named(target, [&](Name name) { written.push_back(name); }); });
      for_each_expression(one, [&](const Expression& whole) { for_each_named(whole, [&](Name name) { read.push_back(name); }); });
    };
    for (const Statement& statement : statements) {
      note(statement);
      const auto* const touch = statement.as<Touch>();
      loads = loads || touch;
      if (statement.as<Origin>()) origin.reset();
      computes = computes && !touch && (is_mark(statement) || is_computing(statement));
      if (const auto* declare = statement.as<Declare>()) written.push_back(declare->what.name);
      for_each_within(statement, [&](const Statement& one) {
        note(one);
        computes = computes && !one.as<Philox>();
        if (const auto* declare = one.as<Declare>()) within.push_back(declare->what.name);
      });
    }
    loads = loads && reads && !waits;
    moves_ = loads || (!waits && !reads && !crosses && (computes || statements.back().as<Declare>()));
    for (Names* names : {&read, &written}) std::erase_if(*names, [&](Name name) { return contains(within, name); });
  }
  /// Returns true if the part can be executed ahead of its turn, once the values that it reads are there.
  bool moves() const { return moves_; }

 private:
  bool moves_ = false;
};

/// Returns true if the part goes on behind the statement.
bool goes_on(const Part& part, const Statement& statement) {
  if (const auto* touch = statement.as<Touch>()) return touch->next;
  if (is_mark(statement)) return true;
  const bool touches = std::ranges::any_of(part.statements, [](const Statement& one) { return one.as<Touch>() != nullptr; });
  return touches && statement.as<Declare>() && !reads_memory(statement);
}

std::vector<Part> parts_of(Block body) {
  std::vector<Part> parts;
  std::optional<Origin> origin;
  bool opens = true;
  for (Statement& statement : body) {
    if (opens) parts.emplace_back().origin = origin;
    const auto said = [&](const Statement& one) {
      if (const auto* here = one.as<Origin>()) origin = *here;
    };
    said(statement);
    for_each_within(statement, said);
    opens = !goes_on(parts.back(), statement);
    parts.back().statements.push_back(std::move(statement));
  }
  for (Part& part : parts) part.look();
  return parts;
}

class Waiter {
 public:
  Waiter(Block body, Block wait) : parts_(parts_of(std::move(body))), wait_(std::move(wait)), ahead_(parts_.size()) {}

  Block block() {
    first_ = static_cast<std::size_t>(std::ranges::find_if(parts_, &Part::waits) - parts_.begin());
    for (std::size_t i = first_; i < parts_.size(); ++i) begin(i);
    for (std::size_t i = 0; i < first_; ++i) ahead_[i] = true;
    if (first_ < parts_.size()) leave_behind();
    for (std::size_t i = 0; i < first_; ++i) put(i, true);
    for (const std::size_t i : begun_) put(i, true);
    std::ranges::move(wait_, std::back_inserter(out_));
    for (std::size_t i = 0; i < parts_.size(); ++i) put(i, false);
    return std::move(out_);
  }

 private:
  /// A load of what no launch writes goes ahead of the wait, with what it is made of, where all of that can.
  void begin(std::size_t load) {
    if (!parts_[load].loads) return;
    std::vector<std::size_t> missing{load};
    for (std::size_t k = 0; k < missing.size(); ++k) {
      const Part& part = parts_[missing[k]];
      if (!part.moves()) return;
      for (std::size_t i = first_; i < missing[k]; ++i) {
        if (ahead_[i] || std::ranges::find(missing, i) != missing.end()) continue;
        if (meet(parts_[i].written, part.read)) missing.push_back(i);
        else if (meet(parts_[i].read, part.written)) return;
      }
    }
    std::ranges::sort(missing);
    for (const std::size_t i : missing)
      if (!ahead_[i]) ahead_[i] = true, begun_.push_back(i);
  }
  /// Leaves computations whose results nothing in front of the wait reads behind it: nothing is held in registers meanwhile.
  void leave_behind() {
    Names needed, changed;
    const auto keep = [&](const Part& part) {
      needed.insert(needed.end(), part.read.begin(), part.read.end());
      needed.insert(needed.end(), part.written.begin(), part.written.end());
      changed.insert(changed.end(), part.written.begin(), part.written.end());
    };
    for (const std::size_t i : begun_) keep(parts_[i]);
    for (std::size_t i = first_; i-- > 0;) {
      const Part& part = parts_[i];
      ahead_[i] = !part.computes || meet(part.written, needed) || meet(part.read, changed);
      if (ahead_[i]) keep(part);
      else std::ranges::copy_if(part.read, std::back_inserter(needed), [&](Name name) { return !contains(part.written, name); });
    }
  }
  /// Adds a part with the line that holds for it, where the part ahead of it has another.
  void put(std::size_t i, bool ahead) {
    Part& part = parts_[i];
    if (ahead_[i] != ahead) return;
    if (part.origin && last_ + 1 != i) out_.push_back(*part.origin);
    last_ = i;
    std::ranges::move(part.statements, std::back_inserter(out_));
    part.statements.clear();
  }

  std::vector<Part> parts_;
  Block wait_;
  std::vector<bool> ahead_;  // of the wait, by part
  std::vector<std::size_t> begun_;  // parts that go ahead of their turn
  std::size_t first_ = 0;  // that waits
  std::size_t last_ = 0;  // that was put
  Block out_;
};

}  // namespace

void wait_late(Kernel& kernel) {
  const auto wait = std::ranges::find_if(kernel.entry, [](const Statement& one) { return one.as<AwaitLaunchAhead>() != nullptr; });
  if (wait == kernel.entry.end() || kernel.cluster > 1 || kernel.walkers > 0 || kernel.copiers > 0) return;
  Block moved(std::make_move_iterator(wait), std::make_move_iterator(kernel.entry.end()));
  kernel.entry.erase(wait, kernel.entry.end());
  kernel.body = Waiter(std::move(kernel.body), std::move(moved)).block();
}

}  // namespace tegula::simt
