#pragma once
// Makes the machine's instructions of a kernel's statements. The files translate_*.cpp each hold the part of this class that their name says.

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/simt/machine/code.h"

namespace tegula::simt {

class Translator {
 public:
  explicit Translator(const Kernel& kernel) : k_(kernel) {}
  Code translate();

 private:
  /// Lanes in registers: a number, a pointer, a number with its place, a vector; or an array of those.
  struct Value {
    Type type;
    Slot slot;
    std::vector<std::int64_t> sizes = {};
  };
  struct Variable {
    Value value;
    int counter = -1;  // of a loop over registers
  };
  /// A name's place: registers, or a place in memory.
  struct Reference {
    bool in_memory = false;
    Value value;  // the registers, or the address
    Type type;  // of what is there
  };
  using Values = std::vector<Value>;

  // ---- translate.cpp: the head, statements, control.
  void head();
  void walk(const Block& block);
  void walk_within(const Block& block);
  void operator()(const Origin&) {}
  void operator()(const Note&) {}
  void operator()(const Declare& one);
  void operator()(const Assign& one);
  void operator()(const Keep&) {}
  void operator()(const Unused&) {}
  void operator()(const Loop& loop);
  void operator()(const EachOfVector&) { unknown("a walk over a vector that a pass should have replaced"); }
  void operator()(const For& loop);
  void operator()(const Branch& branch);
  void operator()(const Scope& scope) { walk_within(scope.body); }
  void operator()(const Leave&) { add({.what = Instruction::What::Leave}); }
  void operator()(const Barrier& barrier);
  void operator()(const NumberedBarrier& barrier);
  void operator()(const MoveRegisters& registers);
  void operator()(const AwaitLaunchAhead&) {}
  void operator()(const Touch&) { unknown("a mark of memory that a pass should have replaced"); }
  void operator()(const MeetCluster&) { unknown("a mark of the cluster that a pass should have replaced"); }
  void operator()(const UseRing&) { unknown("a mark of the ring that a pass should have replaced"); }
  void operator()(const OpenRing&) { unknown("a mark of the ring that a pass should have replaced"); }
  void operator()(const Convert&) { unknown("a change of layout that a pass should have replaced"); }
  void operator()(const CopyTile&) { unknown("a copy of a tile that a pass should have replaced"); }
  void operator()(const AwaitTile&) { unknown("a mark of a tile that a pass should have replaced"); }
  void operator()(const FreeTile&) { unknown("a mark of a tile that a pass should have replaced"); }
  void operator()(const Reduced&) { unknown("a mark of reductions that a pass should have replaced"); }
  void operator()(const UseScratch&) { unknown("a mark of scratch that a pass should have replaced"); }
  using Within = std::function<void()>;
  void where(const Expression& when, const Within& f);
  void counted(Name name, std::int64_t begin, std::int64_t end, const Within& body);
  void assign(const Expression& target, const Value& value);
  void assign(const Expression& target, const Expression& value) {
    const std::int64_t top = top_;
    assign(target, lanes(value));
    top_ = top;
  }
  void declare(Name name, Value value) { scopes_.back()[name.str()] = {std::move(value)}; }

  // ---- translate_memory.cpp
  void operator()(const LoadWide& load);
  void operator()(const StoreWide& store);
  void operator()(const StoreOne& store);
  void operator()(const Atomic& atomic);
  void operator()(const Fence&);
  void operator()(const WriteInOrder& write);
  void operator()(const Report& report);
  void operator()(const Show& show);
  void operator()(const Philox& philox);
  void operator()(const CopyAsync& copy);
  void operator()(const AwaitCopies&);
  void operator()(const CopyAhead& copy);
  void operator()(const CloseCopies&);
  void operator()(const WaitForCopies& wait);
  Value load(const Value& address, const Type& type, const std::string& said, bool is_volatile = false);
  void store(const Value& address, const Type& type, const Value& value, const std::string& said);
  void copy(const Value& to, const Value& from, const Value& inside, std::size_t offset, std::size_t bytes, std::size_t element,
            std::size_t first, const std::string& said);

  // ---- translate_boxes.cpp
  void operator()(const BeginCounters& begin);
  void operator()(const EndCounters& end);
  void operator()(const ExpectBytes& expect);
  void operator()(const Arrive& arrive);
  void operator()(const CopyBox& copy);
  void operator()(const AwaitBytes& wait);
  void operator()(const StoreBox& store);
  void operator()(const CloseStores&);
  void operator()(const AwaitStores& wait);
  template <class Box>
  std::pair<std::vector<Slot>, std::vector<Slot>> coordinates(const Box& box);

  // ---- translate_products.cpp
  void operator()(const ReadMatrices& read);
  void operator()(const WriteMatrices& write);
  void operator()(const PackFragment& pack);
  void operator()(const MultiplyFragments& product);
  void operator()(const MultiplyTile& product);
  void operator()(const BeginProducts&) {}
  void operator()(const CloseProducts&);
  void operator()(const AwaitProducts& wait);
  void operator()(const FenceTiles&);

  // ---- translate_across.cpp
  void declare_two(const char* first, std::int64_t count);
  void operator()(const Combine& combine);
  void operator()(const SendWide& send);
  void operator()(const BeginExchange&) {}
  void operator()(const Shuffle& shuffle);
  void operator()(const Scan& scan);
  void operator()(const Sort& sort);
  void combine_columns(const Combine& combine);
  void combine_pair(const Combine& combine);
  void combine_counted(const Combine& combine);
  void combine_rows(const Combine& combine);
  void combine_rows_alike(const Combine& combine);
  void combine_rows_for_first(const Combine& combine);
  void combine_rows_of_warp(const Combine& combine, const std::string& x, std::int64_t first, std::int64_t count);
  void across_warp(const Operation& operation, const Expression& x, int from, int to);
  void combine_lines(const Combine& combine, const Expression& parts, std::int64_t lines, std::int64_t pitch);
  void let_parts(const Combine& combine);
  /// The value of the lane at that distance (exclusive or); `distances`: each lane has its own.
  Value exchanged(const Value& value, int distance, const std::optional<Slot>& distances = {});
  void write_to(const Expression& place, const Expression& rank, const Value& value, int exchange);
  void meet() { add({.what = Instruction::What::Meet}); }

  // ---- translate_expressions.cpp
  Value lanes(const Expression& e);
  Value lanes(const Expression& e, Number as) { return converted(lanes(e), as); }
  Reference reference(const Expression& e);
  /// Registers that a statement names by their address, one after another.
  Value registers(const Expression& e);
  Value element(const Value& array, std::int64_t index) const;
  Value element(const Value& array, const std::vector<Slot>& indices) const;
  Slot affine(const Expression& e);
  Value logic(const Expression& e);
  Value chosen(const Expression& e);
  Value pointer_sum(const Value& pointer, const Value& number);
  Value folded(const Operation& operation, const Value& a, const Value& b);
  Value nothing_of(const Operation& operation);
  Value placed(const Expression& tuple, DType dtype);
  Value selected(const Value& when, const Value& a, const Value& b);
  Value called(std::span<const Function> table, const std::string& name, Values operands);
  Value assembled(const Assembly& assembly, const Values& operands);
  Value converted(const Value& value, Number to);
  Value converted(const Value& value, const Type& to);
  Value constant(Number number, std::uint64_t bits);
  Value integer(std::int64_t value) { return constant(Number::I32, static_cast<std::uint64_t>(value)); }
  Value number(const Expression& e);
  bool touches_memory(const Expression& e) const;
  const Variable* find(Name name) const;
  const Variable& variable(Name name) const;
  [[noreturn]] void unknown(const std::string& what) const;

  // ---- Instructions and registers.
  Instruction& add(Instruction instruction) { return code_.instructions.emplace_back(instruction); }
  void native(Native what) {
    add({.what = Instruction::What::Native, .number = static_cast<std::int64_t>(code_.natives.size())});
    code_.natives.push_back(std::move(what));
  }
  void compute(LaneFunction run, const Value& out, std::initializer_list<Slot> in, bool masked = false);
  void move(const Value& to, const Value& from);  // of the active lanes
  std::size_t here() const { return code_.instructions.size(); }
  const std::string* said(std::string sentence) { return &code_.sentences.emplace_back(std::move(sentence)); }
  Slot allocate(std::int64_t width) {
    const Slot slot{.base = top_};
    top_ += width;
    code_.granules = std::max(code_.granules, static_cast<std::size_t>(top_));
    return slot;
  }
  Value temporary(const Type& type) { return {type, allocate(width(type))}; }
  static std::int64_t width(const Type& type);  // granules
  int new_counter() { return static_cast<int>(code_.counters++); }
  int new_mask() { return static_cast<int>(code_.masks++); }
  static Type type_of(Number number);

  const Kernel& k_;
  Code code_;
  std::int64_t top_ = kConstantGranules;
  std::uint32_t constants_ = 0;
  std::vector<std::map<std::string, Variable>> scopes_;
  std::map<std::pair<Number, std::uint64_t>, std::uint32_t> known_;
};

}  // namespace tegula::simt
