// A pointer is followed as an i64: the number of its element, and 2^40 for each parameter, so that one number says which tensor and where, however
// the pointer came to be.

#include "tegula/tile/passes/check_places.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tegula/tile/passes/dead_code.h"
#include "tegula/tile/pointer_origins.h"

namespace tegula::tile {
namespace {

constexpr std::int64_t kSpace = std::int64_t{1} << 40;  // from one tensor's first element to the next one's
constexpr std::int64_t kSpan = std::int64_t{1} << 36;  // of a failure's value: elements, from -kSpan / 2 on …
constexpr std::int64_t kInstances = std::int64_t{1} << 27;  // … and so many instances

class Checker {
 public:
  Checker(Program program, std::span<const Extent> extents, std::int64_t first_id)
      : out_{std::move(program), {}},
        extents_(extents.first(std::min<std::size_t>(extents.size(), 64))),
        first_id_(first_id) {
    const auto count = out_.program.instructions.size();
    place_.assign(count, -1), roots_.assign(count, 0), counter_.assign(count, -1);
    find_roots();
  }

  CheckedPlaces run() && {
    Region body = std::exchange(out_.program.body, {});
    std::vector<Id> now;
    now_ = &now;
    begin();
    for (const Id id : body.body) instruction(id);
    out_.program.body.body = std::move(now);
    out_.program = remove_dead_code(std::move(out_.program));  // numbers all in the order of execution
    verify(out_.program);
    return std::move(out_);
  }

 private:
  static constexpr Type kIndex{DType::i64, false, {}};
  Instruction& at(Id id) { return out_.program.instructions[static_cast<std::size_t>(id)]; }
  Id& place(Id pointer) { return place_[static_cast<std::size_t>(pointer)]; }

  // --- Which extents a pointer may belong to, a bit each.

  std::uint64_t& roots(Id id) { return roots_[static_cast<std::size_t>(id)]; }
  void find_roots() {
    const PointerOrigins origins(out_.program);
    for (Id id = 0; id < static_cast<Id>(roots_.size()); ++id) {
      if (!at(id).type.pointer || !has_result(at(id).word)) continue;
      for (const int parameter : origins(id)) {
        const auto found = std::ranges::find(extents_, parameter, &Extent::parameter);
        if (found != extents_.end()) roots(id) |= std::uint64_t{1} << (found - extents_.begin());
      }
    }
  }

  // --- New instructions, at the end of the region at hand.

  Id add(Instruction instruction) {
    instruction.where = where_;
    out_.program.instructions.push_back(std::move(instruction));
    place_.push_back(-1), roots_.push_back(0), counter_.push_back(-1);
    now_->push_back(static_cast<Id>(out_.program.instructions.size()) - 1);
    return now_->back();
  }
  Id add(Word word, Type type, std::vector<Id> operands, std::int64_t attribute = 0) {
    Instruction made;
    made.word = word, made.type = type, made.operands = std::move(operands), made.attribute = attribute;
    return add(std::move(made));
  }
  Id number(std::int64_t value, DType dtype = DType::i64) {
    Instruction made;
    made.word = Word::Constant, made.type = {dtype, false, {}}, made.integer = value;
    return add(std::move(made));
  }
  /// One of the operands has the result's shape, or both are scalars.
  Id both(Word word, Id a, Id b) {
    Type type = at(a).type.shape.empty() ? at(b).type : at(a).type;
    if (word >= Word::Eq && word <= Word::Ge) type.dtype = DType::boolean;
    return add(word, type, {a, b});
  }

  /// Values that all checks share: which instance this is.
  void begin() {
    for (int axis = 2; axis >= 0; --axis) {
      const Id id = add(Word::ProgramId, kIndex, {}, axis);
      instance_ = axis == 2 ? id : both(Word::Add, both(Word::Mul, instance_, add(Word::NumPrograms, kIndex, {}, axis)), id);
    }
    instance_ = both(Word::Min, instance_, number(kInstances - 1));
    instance_ = both(Word::Mul, instance_, number(kSpan));
  }

  // --- The program, once more.

  void instruction(Id id) {
    where_ = at(id).where;
    const Word word = at(id).word;
    if (is_loop(word) || word == Word::If) return control(id);
    if (word == Word::Load || word == Word::Store || word == Word::Atomic) access(id);
    now_->push_back(id);
    if (at(id).type.pointer && has_result(word) && roots(id) != 0) follow(id);
  }

  /// The place of a pointer that has just been computed.
  void follow(Id id) {
    const Instruction self = at(id);
    Type type = self.type;
    type.dtype = DType::i64, type.pointer = false;
    if (self.word == Word::Parameter) {
      place(id) = number(kSpace * static_cast<std::int64_t>(std::countr_zero(roots(id))));
    } else if (self.word == Word::Hint) {
      place(id) = place(self.operands[0]);
    } else if (self.word == Word::Result) {
      place(id) = add(Word::Result, type, {self.operands[0]}, counter_[static_cast<std::size_t>(self.operands[0])] + self.attribute);
    } else {  // pointer arithmetic and shapes, of one pointer each
      std::vector<Id> operands = self.operands;
      for (Id& operand : operands) operand = at(operand).type.pointer ? place(operand) : operand;
      place(id) = add(self.word, type, std::move(operands), self.attribute);
    }
  }

  // A place goes with every value that is carried or yielded, behind all of those: that of a value which is no pointer is 0.
  void control(Id id) {
    const bool loop = is_loop(at(id).word), asks = at(id).word == Word::While;
    const std::size_t first = first_carried(at(id).word);
    const std::vector<Id> operands = at(id).operands;
    const std::size_t count = result_count(at(id));
    std::vector<Region> regions = std::move(at(id).regions);
    const Id zero = number(0);
    const auto place_of = [&](Id value) { return at(value).type.pointer && place(value) >= 0 ? place(value) : zero; };
    const auto type_of = [&](Id value) { return Type{DType::i64, false, at(value).type.pointer ? at(value).type.shape : Shape{}}; };
    std::vector<Id> more = operands;
    for (std::size_t k = 0; loop && k < count; ++k) more.push_back(place_of(operands[k + first]));
    for (Region& region : regions) {
      for (std::size_t k = 0; loop && k < count; ++k) {
        Instruction parameter;
        parameter.word = Word::RegionParameter, parameter.type = type_of(operands[k + first]);
        parameter.attribute = static_cast<std::int64_t>(region.parameters.size());
        std::vector<Id>* const around = std::exchange(now_, &region.parameters);  // where parameters are listed
        const Id made = add(std::move(parameter));
        now_ = around;
        if (at(region.parameters[k + 1]).type.pointer) place(region.parameters[k + 1]) = made;
      }
      std::vector<Id> inside;
      std::vector<Id>* const around = std::exchange(now_, &inside);
      const std::vector<Id> body = std::move(region.body);
      for (const Id inner : body) instruction(inner);
      std::vector<Id> places;
      for (std::size_t k = 0; k < count; ++k) places.push_back(place_of(region.results[k]));
      region.results.insert(region.results.end() - (asks ? 1 : 0), places.begin(), places.end());
      region.body = std::move(inside);
      now_ = around;
    }
    at(id).regions = std::move(regions);
    at(id).operands = std::move(more);
    counter_[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(count);
    now_->push_back(id);
  }

  void access(Id id) {
    const Word word = at(id).word;
    const Id pointer = at(id).operands[0];
    if (roots(pointer) == 0) return;
    const std::size_t mask_at = mask_place(at(id));
    const bool masked = at(id).operands.size() > mask_at;
    const bool several = !std::has_single_bit(roots(pointer));
    const Id asked = masked ? at(id).operands[mask_at] : -1;
    Id fine = -1;  // within one of the tensors
    for (std::size_t e = 0; e < extents_.size(); ++e) {
      if ((roots(pointer) >> e & 1) == 0) continue;
      const Id element = both(Word::Sub, place(pointer), number(kSpace * static_cast<std::int64_t>(e)));
      const Id within = both(Word::And, both(Word::Ge, element, number(0)), both(Word::Lt, element, number(extents_[e].elements)));
      Id holds = within;
      if (several) {  // or not of this tensor at all
        const Id others = both(Word::Or, both(Word::Lt, element, number(-kSpace / 2)), both(Word::Ge, element, number(kSpace / 2)));
        holds = both(Word::Or, holds, others);
      }
      if (masked) holds = both(Word::Or, holds, add(Word::Not, at(asked).type, {asked}));
      const Id near = both(Word::Max, both(Word::Min, element, number(kSpan / 2 - 1)), number(-kSpan / 2));
      const Id value = both(Word::Add, both(Word::Add, near, number(kSpan / 2)), instance_);
      add(Word::Assert, {}, {holds, value}, first_id_ + static_cast<std::int64_t>(out_.checks.size()));
      out_.checks.push_back({word, e, where_});
      const Id on = masked ? both(Word::And, within, asked) : within;
      if (word != Word::Load && extents_[e].marks >= 0) mark(extents_[e].marks, element, on);
      fine = fine < 0 ? within : both(Word::Or, fine, within);
    }
    if (masked) fine = both(Word::And, fine, asked);
    std::vector<Id>& operands = at(id).operands;
    if (masked) operands[mask_at] = fine;
    else operands.push_back(fine);
  }

  void mark(int parameter, Id element, Id on) {
    const Type flags{DType::u8, true, {}};
    const Id base = add(Word::Parameter, flags, {}, parameter);
    const Id pointer = add(Word::Add, {DType::u8, true, at(element).type.shape}, {base, element});
    add(Word::Store, {}, {pointer, number(1, DType::i32), on});
  }

  CheckedPlaces out_;
  std::span<const Extent> extents_;
  std::int64_t first_id_;
  std::vector<Id> place_;  // by pointer: the i64 that follows it
  std::vector<std::uint64_t> roots_;
  std::vector<std::int64_t> counter_;  // by loop and If: how many results it had, behind which the places come
  std::vector<Id>* now_ = nullptr;  // the list of instructions at hand
  Id instance_ = -1;
  Line where_{};
};

}  // namespace

CheckedPlaces check_places(Program program, std::span<const Extent> extents, std::int64_t first_id) {
  return Checker(std::move(program), extents, first_id).run();
}

PlaceFailure place_failure(std::int64_t value) { return {value % kSpan - kSpan / 2, value / kSpan}; }

}  // namespace tegula::tile
