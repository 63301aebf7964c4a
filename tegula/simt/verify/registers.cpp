#include "tegula/simt/verify/registers.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

/// Among which threads a value may differ.
using Bits = std::uint8_t;
constexpr Bits kAcrossRows = 1;      // of a column of threads
constexpr Bits kAcrossColumns = 2;   // of a row of threads
constexpr Bits kFirstRowOnly = 4;    // only the first row of threads has it

/// An array of registers, or one.
struct Array {
  Register what;
  Bits differs = 0;
  bool defined = false;
  bool numbers_threads = false;
  int conditions = 0;  // under which it is declared
  std::uint64_t written = 0;  // of its outermost axis, where elements are written one by one
};

class Paths {
 public:
  Paths(const Kernel& kernel, std::set<std::string>& faults)
      : faults_(faults),
        column_threads_(kernel.column_threads),
        column_warps_(kernel.column_warps),
        team_(kernel.team()),
        has_roles_(kernel.copiers > 0),
        rows_(kernel.row_threads > 1 ? kAcrossRows : 0),
        columns_(kernel.column_threads * kernel.cluster > 1 ? kAcrossColumns : 0) {
    const auto gather = [&](const Statement& statement) {
      if (const auto* combine = statement.as<Combine>())
        for (const Expression& one : combine->registers) brought_.insert(array_name(one).str());
    };
    for_each_statement(kernel.body, gather);
    scopes_.emplace_back();
    walk(kernel.entry);
    walk(kernel.begin);
    walk(kernel.body);
  }

 private:
  // ---- Names.
  static Name array_name(const Expression& e) {
    if (e.kind == Kind::Name || e.kind == Kind::Held || e.kind == Kind::Element) return e.name;
    return e.operands.empty() ? Name() : array_name(e.operands[0]);
  }
  Array* find(Name called) {
    const std::string name = called.str();
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return &arrays_[found->second];
    return nullptr;
  }
  Array& declare(Register what) {
    scopes_.back()[what.name.str()] = arrays_.size();
    return arrays_.emplace_back(Array{.what = std::move(what), .conditions = conditions_});
  }
  Bits of_thread(Name name) const {
    if (name == "tr") return rows_;
    if (name == "tc" || name == "block") return columns_;
    if (name == "threadIdx.x" || name == "owner") return rows_ | columns_;
    return 0;
  }

  // ---- Values.
  /// Among which threads the value differs. Complains of what is read in it. `share`: of it the shares of threads may be read.
  Bits read(const Expression& e, Name share = {}) {
    if (const Expression* const mask = bits_of_thread(e)) return across(mask->integer);
    Bits bits = 0;
    for (const Expression& operand : e.operands) bits |= read(operand, share);
    if (e.kind != Kind::Name && e.kind != Kind::Held && e.kind != Kind::Element) return bits;
    bits |= of_thread(e.name);
    Array* const array = find(e.name);
    if (!array) return bits;
    if (!array->defined) faults_.insert(e.name.str() + " is read before it is written on every path");
    if ((array->differs & promised(array->what)) != 0 && !(e.name == share))
      faults_.insert(e.name.str() + " is read before the shares of threads have been brought together");
    return bits | array->differs;
  }
  /// The mask of an expression that takes bits of the thread's number.
  const Expression* bits_of_thread(const Expression& e) {
    if (e.kind != Kind::Binary || !(e.name == "&") || e.operands[0].kind != Kind::Name || e.operands[1].kind != Kind::Integer)
      return nullptr;
    const Array* const thread = find(e.operands[0].name);
    return thread && thread->numbers_threads ? &e.operands[1] : nullptr;
  }
  Bits across(std::int64_t mask) const {
    if (!std::has_single_bit(static_cast<unsigned>(column_threads_))) return rows_ | columns_;
    const std::int64_t of_columns = column_warps_ > 1 ? 3 | (column_warps_ - 1) << 5 : column_threads_ - 1;
    return static_cast<Bits>(((mask & of_columns) != 0 ? columns_ : 0) | ((mask & ~of_columns) != 0 ? rows_ : 0));
  }
  /// Returns true if the value is read from the ring, where a thread finds what it has copied itself (rings.h).
  static bool is_in_ring(const Expression& whole) {
    bool found = false;
    for_each_part(whole, [&](const Expression& e) { found = found || e.is_name("ring"); });
    return found;
  }
  /// The same, where only threads that hold what is read may be.
  Bits use(const Expression& e, Name share = {}) {
    const Bits bits = read(e, share);
    if ((bits & kFirstRowOnly) && !(guard_ & kAcrossRows)) faults_.insert(text(e) + " is read by threads that do not hold it");
    return bits & (kAcrossRows | kAcrossColumns);
  }
  Bits promised(const Register& what) const {
    return static_cast<Bits>((what.alike_in_rows ? columns_ : 0) | (what.alike_in_columns ? rows_ : 0));
  }

  // ---- Writes.
  /// Returns true if the loops that are open go over all that the index stands for.
  bool covers(Name counter, std::int64_t size) const {
    const auto found = counters_.find(counter.str());
    return found == counters_.end() || found->second == size;
  }
  void write(const Expression& target, Bits bits) {
    Array* const array = find(array_name(target));
    if (!array) return;
    if (array->what.type.pointers > 0 && array->what.sizes.empty() && target.kind == Kind::Element) return told_others(target, bits);
    const bool all = defines(target, *array), always = conditions_ == array->conditions;
    bits |= condition_;
    array->differs = all && always ? bits : static_cast<Bits>(array->differs | bits);
    array->defined = array->defined || (all && (always || masked_));
  }
  /// Checks that a value which one of several threads stores for all of them is the same in each.
  void told_others(const Expression& what, Bits bits) {
    if (bits & guard_) faults_.insert("what one thread stores for others, " + text(what) + ", differs among them");
  }
  bool defines(const Expression& target, Array& array) {
    const Expression& e = target.kind == Kind::Binary || target.kind == Kind::Unary ? target.operands[0] : target;
    const Sizes& sizes = array.what.sizes;
    if (e.kind == Kind::Held) {
      static const std::vector<const char*> counters[] = {{}, {"r"}, {"c"}, {"r", "c"}, {"c", "k"}, {"r", "c", "k"}};
      const auto& indices = counters[static_cast<std::size_t>(e.place)];
      for (std::size_t i = 0; i < std::min(indices.size(), sizes.size()); ++i)
        if (!covers(indices[i], sizes[i])) return false;
      return true;
    }
    if (e.kind != Kind::Element || sizes.empty()) return true;
    for (std::size_t i = 0; i < std::min(e.operands.size(), sizes.size()); ++i) {
      const Expression& index = e.operands[i];
      if (index.kind == Kind::Name && !covers(index.name, sizes[i])) return false;
      if (index.kind != Kind::Integer || index.integer < 0 || index.integer >= 64 || sizes[i] > 64) continue;
      if (i > 0) return true;
      array.written |= std::uint64_t{1} << index.integer;
      if (array.written != (sizes[0] == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << sizes[0]) - 1)) return false;
    }
    return true;
  }

  // ---- Statements.
  void walk(const Block& block) {
    for (const Statement& statement : block) {
      const Conditioned here(*this, statement.when ? &*statement.when : nullptr);
      std::visit([&](const auto& what) { (*this)(unboxed(what), statement); }, statement.what);
    }
  }
  void walk_within(const Block& block) {
    scopes_.emplace_back();
    walk(block);
    scopes_.pop_back();
  }

  /// The state of registers in the statements under a condition.
  class Conditioned {
   public:
    Conditioned(Paths& paths, const Expression* when)
        : paths_(paths),
          guard_(paths.guard_),
          condition_(paths.condition_),
          masked_(paths.masked_),
          conditions_(paths.conditions_) {
      if (!when) return;
      paths.condition_ |= paths.use(*when);
      paths.guard_ |= paths.one_of(*when);
      ++paths.conditions_;
      for_each_part(*when, [&](const Expression& e) {
        for (const char* place : {"row", "col", "e", "i", "tr", "tc", "first", "start"}) paths.masked_ = paths.masked_ || e.is_name(place);
      });
    }
    Conditioned(const Conditioned&) = delete;
    Conditioned& operator=(const Conditioned&) = delete;
    ~Conditioned() { paths_.guard_ = guard_, paths_.condition_ = condition_, paths_.masked_ = masked_, paths_.conditions_ = conditions_; }

   private:
    Paths& paths_;
    Bits guard_, condition_;
    bool masked_;
    int conditions_;
  };
  /// Among which threads one acts for all where the condition holds.
  Bits one_of(const Expression& when) const {
    if (when.kind == Kind::Group) return one_of(when.operands[0]);
    if (when.kind != Kind::Binary) return 0;
    if (when.name == "&&") return one_of(when.operands[0]) | one_of(when.operands[1]);
    const bool first = when.name == "==" && when.operands[1].kind == Kind::Integer && when.operands[1].integer == 0;
    return first && when.operands[0].kind == Kind::Name && !(when.operands[0].name == "block") ? of_thread(when.operands[0].name) : 0;
  }

  void operator()(const Declare& one, const Statement&) {
    const Bits bits = one.value ? read(*one.value) : Bits{0};
    Array& array = declare(one.what);
    array.differs = bits;
    array.defined = one.value.has_value();
    array.numbers_threads = one.value && *one.value == thread_index();
  }
  void operator()(const Loop& loop, const Statement&) {
    const auto outer = counters_.find(loop.name.str());
    const std::int64_t before = outer == counters_.end() ? -1 : outer->second;
    counters_[loop.name.str()] = loop.begin == 0 ? loop.end : loop.end - loop.begin + 1;
    for (int turn = 0; turn < 2; ++turn) walk_within(loop.body);
    if (before < 0) counters_.erase(loop.name.str());
    else counters_[loop.name.str()] = before;
  }
  void operator()(const For& loop, const Statement& statement) {
    for_each_expression(statement, [&](const Expression& e) { use(e); });
    const bool at_least_once = loop.begin.kind == Kind::Integer && loop.end.kind == Kind::Integer && loop.begin.integer < loop.end.integer;
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<Array> before = arrays_;
      walk_within(loop.body);
      if (turn > 0 || !at_least_once) join(before);
    }
  }
  /// Follows warps that copy and those that compute: each sees one side only, all of its threads.
  void roles(const Branch& branch) {
    const std::vector<Array> before = arrays_;
    walk_within(branch.then);
    arrays_ = before;
    walk_within(branch.otherwise);
    arrays_ = before;
  }
  void operator()(const Branch& branch, const Statement&) {
    if (has_roles_ && branch.when == (Expression("threadIdx.x") < team_)) return roles(branch);
    const std::vector<Array> before = arrays_;
    const int conditions = conditions_;
    const Conditioned here(*this, &branch.when);
    if (branch.otherwise.empty()) {
      if (loop_behind_first(branch)) conditions_ = conditions;  // all of it stands there
      walk_within(branch.then);
      if (!masked_) join(before);
      return;
    }
    conditions_ = conditions;  // on one side or the other
    walk_within(branch.then);
    std::vector<Array> then = std::exchange(arrays_, before);
    walk_within(branch.otherwise);
    then.resize(before.size());
    join(then);
  }
  void operator()(const Scope& scope, const Statement&) { walk_within(scope.body); }
  void operator()(const Combine& combine, const Statement&) {
    for (const Expression& one : combine.registers) {
      read(one, array_name(one));
      Array* const array = find(array_name(one));
      if (!array) continue;
      switch (combine.how) {
        case Combine::How::Columns: array->differs &= static_cast<Bits>(~kAcrossColumns); break;
        case Combine::How::Rows:
        case Combine::How::RowsAlike: array->differs &= static_cast<Bits>(~kAcrossRows); break;
        case Combine::How::RowsForFirst:
          array->differs &= static_cast<Bits>(~kAcrossRows);
          if (rows_ != 0) array->differs |= kFirstRowOnly;
      }
    }
  }
  void operator()(const Scan& scan, const Statement&) { declare({.name = scan.name, .type = {}, .sizes = {}}).defined = true; }
  void operator()(const Sort& sort, const Statement&) { declare({.name = sort.name, .type = {}, .sizes = {}}).defined = true; }
  void operator()(const StoreWide&, const Statement& statement) { stores(statement); }
  void operator()(const StoreOne&, const Statement& statement) { stores(statement); }
  void operator()(const Atomic& atomic, const Statement& statement) {
    Bits bits = 0;
    for_each_expression(statement, [&](const Expression& e) {
      if (is_condition(e, statement) || (atomic.target && &e == &*atomic.target)) return;
      const Bits own = use(e);
      told_others(e, own);
      bits |= own;
    });
    if (atomic.target) write(*atomic.target, bits);
  }
  void stores(const Statement& statement) {
    for_each_expression(statement, [&](const Expression& e) {
      if (!is_condition(e, statement)) told_others(e, use(e));
    });
  }
  void operator()(const Assign& assign, const Statement&) {
    const Name target = array_name(assign.target);
    const Expression& value = assign.value;
    // Shares go into an array in which they are brought together.
    const bool is_register = value.kind == Kind::Name || value.kind == Kind::Held || value.kind == Kind::Element;
    const bool copies = is_register && brought_.contains(target.str());
    Bits bits = read(value, copies ? array_name(value) : target);
    for (const Expression& index : assign.target.operands) bits |= read(index);
    if (assign.adds) bits |= read(assign.target, target);
    if (is_in_ring(value)) bits = as_promised(bits, target);
    write(assign.target, bits);
  }
  template <class T>
  void operator()(const T&, const Statement& statement) {
    read_and_write(statement);
  }
  void read_and_write(const Statement& statement) {
    Bits bits = 0;
    for_each_expression(statement, [&](const Expression& e) {
      bool is_target = false;
      for_each_target(statement, [&](const Expression& target) { is_target = is_target || &target == &e; });
      if (!is_target && !is_condition(e, statement)) bits |= use(e);
    });
    const auto* const load = statement.as<LoadWide>();
    if (load && is_in_ring(load->pointer)) bits = as_promised(bits, array_name(load->target));
    if (statement.as<Shuffle>()) bits = 0;  // a change of layout has placed it (layouts/conversion.h)
    for_each_target(statement, [&](const Expression& target) { write(target, bits); });
  }
  Bits as_promised(Bits bits, Name target) {
    const Array* const array = find(target);
    return array ? static_cast<Bits>(bits & ~promised(array->what)) : bits;
  }
  static bool is_condition(const Expression& e, const Statement& statement) { return statement.when && &e == &*statement.when; }

  /// Keeps what holds on both paths where they meet, for arrays that were there before.
  void join(const std::vector<Array>& other) {
    arrays_.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) {
      arrays_[i].differs |= other[i].differs;
      arrays_[i].defined = arrays_[i].defined && other[i].defined;
    }
  }

  std::set<std::string>& faults_;
  const int column_threads_, column_warps_, team_;
  const bool has_roles_;
  const Bits rows_, columns_;
  std::set<std::string> brought_;  // arrays that threads bring together
  std::vector<Array> arrays_;
  std::vector<std::map<std::string, std::size_t>> scopes_;
  std::map<std::string, std::int64_t> counters_;  // of loops that are open: how often
  Bits guard_ = 0;       // among which threads only the first is here
  Bits condition_ = 0;   // among which threads it differs who is here
  bool masked_ = false;  // who is here are those that have such an element
  int conditions_ = 0;   // under which the statement is executed
};

}  // namespace

void check_registers(const Kernel& kernel, std::set<std::string>& faults) { Paths(kernel, faults); }

}  // namespace tegula::simt
