#include "tegula/compile/plan/known_programs.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

class ProgramKey : GroupPortion {
 public:
  explicit ProgramKey(const GroupPortion& portion) : GroupPortion(portion) {}

  Words words() {
    for (int i : items_)
      if (item(i).role() == Role::Elementwise && item(i).as<ElementwiseOp>().has_check()) return {};
    add_tiles();
    add_loops();
    for (int s : streams_) add_stream(s);
    for (int i : group_.items) append(words_, *item(i).op);  // all of them: they give the program its name
    for (int i : items_) add_item(i);
    for (const int i : nest_.split) add(nest_.member(i).place), add(nest_.member(i).partial);
    return std::move(words_);
  }

 private:
  template <class T>
  void add(T word) {
    words_.push_back(static_cast<std::uint64_t>(word));
  }

  void add_tiles() {
    const auto masked = [&](int l) { return l >= 0 && nest_.ladder(plan_.tiles, l).masked(nest_.extent(l), nest_.step(l)); };
    add(portion_), add(nest_.row), add(nest_.col), add(nest_.rows), add(nest_.cols);
    add(masked(nest_.row)), add(masked(nest_.col)), add(nest_.loads);
    add(nest_.chunks != 1), add(nest_.instances != 1), add(has_many_tiles()), add(nest_.in_turn), add(across());
  }
  // 0 and 1 are part of the program, other strides are arguments, as extents are.
  void add_loops() {
    add(loop_count());
    for (int l = 0; l < loop_count(); ++l) {
      add(loop(l).reduced);
      for (int s : streams_) {
        const std::int64_t stride = nest_.stride(l, s);
        add(stride == 0 || stride == 1 ? stride : 2);
      }
    }
  }
  void add_stream(int s) {
    const Stream& from = stream(s);
    const bool is_index = from.kind == Operand::Kind::Index;
    add(s), add(from.kind), add(from.scratch >= 0), add(written(s));
    add(is_index ? DType::i64 : nest_.moved_as(item(from.item).dtype)), add(is_index && from.pattern.offset != 0);
  }
  void add_item(int i) {
    const Item& own = item(i);
    const Line& where = own.origin.where;
    const LoopNest::Member& place = nest_.member(i);
    add(place.place), add(own.dtype), add(own.rounds), add(member(i).space), add(stored(i)), add(own.inputs.size());
    add(std::bit_cast<std::uintptr_t>(where.file_name())), add(std::bit_cast<std::uintptr_t>(where.function_name()));
    add(where.line()), add(where.column());
    if (stored(i) && !leaves_partial(i)) add(place.store);
    for (std::size_t k = 0; k < own.inputs.size(); ++k) {
      const auto& [from, stream] = nest_.reads[place.first_read + k];
      add(from.kind);
      if (reads_partial(i)) continue;
      switch (from.kind) {
        case Operand::Kind::Inside: add(nest_.member(from.base).place); break;
        case Operand::Kind::Scalar:
          add(constants_.try_emplace(from.base, constants_.size()).first->second), add(item(from.base).dtype);
          break;
        default: add(stream);
      }
    }
  }

  Words words_;
  std::unordered_map<int, std::size_t> constants_;  // numbers in the order in which they are read
};

}  // namespace

Words program_key(const GroupPortion& portion) { return ProgramKey(portion).words(); }

void check_equal(const tile::Program& known, const tile::Program& program) {
  const bool same_names = known.name == program.name &&
                          std::ranges::equal(known.parameters, program.parameters, {}, &tile::Parameter::name, &tile::Parameter::name);
  if (tile::structure(known) == tile::structure(program) && same_names) return;
  throw Error({.op = "lower", .got = "groups of equal words with programs that differ, " + program.name, .expected = "equal ones"});
}

}  // namespace tegula::compile
