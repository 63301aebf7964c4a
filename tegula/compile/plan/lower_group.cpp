// A fused group as a tile program over its loop nest.
//
// The kept loops are spread over the grid; the reduced ones become a loop over chunks, or nothing when one tile holds them. Values after
// a reduction belong to a later stage: a second loop over the same elements (which are then in the cache), or straight code.

#include <algorithm>
#include <map>
#include <string_view>

#include "tegula/compile/plan/known_programs.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/lines.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/reduction.h"

namespace tegula::compile {
namespace {

using tile::Builder;
using tile::Value;

class Lowering : GroupPortion {
 public:
  Lowering(const Plan& plan, const FusedGroup& group, const LoopNest& nest, Portion portion, bool asynchronous)
      : GroupPortion(plan, group, nest, portion),
        asynchronous_(asynchronous),
        builder_(program_name()) {}

  Step run(KnownPrograms& known) {
    const Words key = program_key(*this);
    const auto found = key.empty() ? known.end() : known.find(key);
    const bool is_new = found == known.end();
    builds_ = is_new || checking(Check::Plan);
    declare();
    KnownProgram own;
    if (builds_) own = built();
    if (is_new) {
      Step step = finish(own);
      if (!key.empty()) known.emplace(key, std::move(own));
      return step;
    }
    if (builds_) check_equal(*found->second.program, *own.program);
    return finish(found->second);
  }

 private:
  KnownProgram built() {
    place_instance();
    if (portion_ == Portion::Partials && across()) {
      walk_across();
    } else {
      for (int stage = 0; stage < stages_; ++stage) write_stage(stage);
    }
    if (portion_ == Portion::Partials) {
      for (const int i : nest_.split) store(nest_.member(i).partial, values_.at(i));
    } else {
      store_all(results(portion_ == Portion::Combination && across() ? Space::Across : Space::Reduced));
    }
    tile::Program program = builder_.finish();
    program.many_sizes = plan_.tiles.ladder.on;
    Words structure = tile::structure(program);
    return {std::move(program), std::move(structure), std::move(last_load_), std::move(first_store_)};
  }

  // ---- Parameters.
  Value integer(std::int64_t value) { return builds_ ? builder_.constant(value, DType::i64) : Value(); }
  Value number(std::int64_t value, const std::string& name) {
    arguments_.push_back({Reference::Kind::Integer, -1, value, 0});
    return builds_ ? builder_.scalar(name, DType::i64) : Value();
  }
  Value pointer(const Reference& to, const std::string& name, DType dtype, bool writable) {
    arguments_.push_back(to);
    return builds_ ? builder_.pointer(name, dtype, writable) : Value();
  }

  void declare() {
    pointers_.resize(nest_.streams.size());
    offsets_.resize(nest_.streams.size());
    lines_.resize(nest_.streams.size());
    strides_.assign(nest_.loops.size(), std::vector<Value>(nest_.streams.size()));
    at_.resize(nest_.loops.size());
    const auto label = [this](std::string_view kind, int of) { return builds_ ? std::string(kind) + std::to_string(of) : std::string(); };
    for (int s : streams_) {
      const Stream& from = stream(s);
      if (from.kind == Operand::Kind::Index) {
        if (from.pattern.offset != 0) offsets_[index(s)] = number(from.pattern.offset, label("o", s));
        continue;
      }
      const DType stored_type = nest_.moved_as(item(from.item).dtype);
      if (from.scratch >= 0) {
        pointers_[index(s)] =
            pointer({Reference::Kind::Scratch, from.scratch, 0, 0}, label("part", s), tile::compute_type(stored_type), written(s));
      } else {
        const auto bytes = from.pattern.offset * static_cast<std::int64_t>(size_of(stored_type));
        pointers_[index(s)] =
            pointer({Reference::Kind::Value, from.item, bytes, 0}, label(written(s) ? "out" : "in", s), stored_type, written(s));
        if (from.line != 0) lines_[index(s)] = number(from.line, label("line", s));
      }
    }
    for (int l = 0; l < loop_count(); ++l) {
      extents_.push_back(number(nest_.extent(l), label("n", l)));
      for (int s : streams_) {
        const std::int64_t stride = nest_.stride(l, s);
        // 0 and 1 are part of the program: they decide which memory instructions it uses.
        const bool fixed = stride == 0 || stride == 1;
        strides_[index(l)][index(s)] = fixed ? integer(stride) : number(stride, label("s", s) + label("_", l));
      }
    }
    for (int i : items_) {
      for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
        const Operand& operand = nest_.read(i, k).operand;
        if (operand.kind != Operand::Kind::Scalar || constants_.contains(operand.base)) continue;
        arguments_.push_back({Reference::Kind::Constant, item(operand.base).slot, 0, 0});
        const std::string name = label("c", static_cast<int>(constants_.size()));
        const DType dtype = tile::compute_type(item(operand.base).dtype);
        constants_[operand.base] = builds_ ? constant_parameter(builder_, name, dtype, asynchronous_) : Value();
      }
    }
    chunks_ = number(nest_.chunks, "chunks");
    if (portion_ == Portion::Partials) {
      instances_ = number(nest_.instances, "instances");
      share_ = nest_.in_turn ? number(nest_.splits, "splits") : number(nest_.share, "share");
      part_elements_ = number(nest_.part_elements, "part_elements");
    }
    for (int l = 0; l < loop_count(); ++l) counts_.push_back(number(nest_.count(l), label("tiles", l)));
  }

  // ---- Where the instance is.
  // Coordinates of the kept or the reduced loops from a running number, innermost loop first.
  void place_loops(Value rest, bool reduced) {
    for (int l = loop_count() - 1; l >= 0; --l) {
      if (loop(l).reduced != reduced) continue;
      bool outermost = true;
      for (int j = 0; j < l; ++j) outermost = outermost && loop(j).reduced != reduced;
      Value place = rest;
      if (!outermost) {
        place = rest % counts_[index(l)];
        rest = rest / counts_[index(l)];
      }
      Value& at = at_[index(l)];
      if (l != nest_.col && l != nest_.row) {
        at = place;
        continue;
      }
      // One after another: compilers differ in the order in which they evaluate operands, and so would the programs.
      const std::int64_t extent = l == nest_.col ? nest_.cols : nest_.rows;
      const Value within = builder_.arange(0, extent), step = integer(extent), first = place * step;
      at = l == nest_.col ? tile::row(first + within) : tile::col(first + within);
    }
  }
  void place_instance() {
    const Value id = builder_.program_id(0);
    begin_ = integer(0), end_ = chunks_;
    if (portion_ != Portion::Partials) return place_loops(id, false);
    // Neighbouring instances take neighbouring strips of the same rows.
    const bool strips = !across() && (nest_.instances != 1 || plan_.tiles.ladder.on);
    split_ = strips ? id / instances_ : id;
    begin_ = nest_.in_turn ? split_ : split_ * share_;
    end_ = across() ? instances_ : chunks_;
    if (!nest_.in_turn) end_ = tile::binary(tile::Word::Min, begin_ + share_, end_);
    if (!across()) place_loops(strips ? id % instances_ : integer(0), false);
  }

  Value mask_of(int l) {
    if (l < 0 || !nest_.ladder(plan_.tiles, l).masked(nest_.extent(l), nest_.step(l))) return {};
    return at_[index(l)] < extents_[index(l)];
  }
  static Value both(Value a, Value b) {
    if (a.is_empty() || b.is_empty()) return a.is_empty() ? b : a;
    return a && b;
  }
  Value mask(bool rows, bool cols) { return both(rows ? mask_of(nest_.row) : Value(), cols ? mask_of(nest_.col) : Value()); }

  Value offset(int s) {
    Value total;
    for (int l = 0; l < loop_count(); ++l) {
      if (nest_.stride(l, s) == 0) continue;
      Value part = at_[index(l)] * strides_[index(l)][index(s)];
      total = total.is_empty() ? part : total + part;
    }
    if (stream(s).scratch >= 0 && portion_ == Portion::Partials) {
      const Value part = split_ * part_elements_;
      total = total.is_empty() ? part : part + total;
    }
    return total;
  }

  // ---- Values.
  Value load(int s) {
    if (stream(s).line != 0) return {};  // by load_line, where the number of the line is known
    if (const auto found = loaded_.find(s); found != loaded_.end()) return found->second;
    last_load_[s] = ++emitted_;
    Value at = offset(s), result;
    if (stream(s).kind == Operand::Kind::Index) {
      Value start = offsets_[index(s)];
      if (at.is_empty()) result = start.is_empty() ? integer(0) : start;
      else result = start.is_empty() ? at : at + start;
    } else {
      Value pointer = pointers_[index(s)];
      result = builder_.load(at.is_empty() ? pointer : pointer + at, mask(nest_.moves(nest_.row, s), nest_.moves(nest_.col, s)));
    }
    return loaded_[s] = result;
  }

  /// The element of the line that the index names, of stream s.
  Value load_line(int s, const Value& place) {
    ++emitted_;
    const Value way = place * lines_[index(s)], at = offset(s), pointer = pointers_[index(s)] + (at.is_empty() ? way : way + at);
    const Shape& shape = pointer.shape();  // behind a reduction it has one row or column
    const auto moves = [&](int axis, std::int64_t size) { return axis < shape.rank() && shape[axis] == size; };
    return builder_.load(pointer, mask(moves(0, nest_.rows), moves(1, nest_.cols)));
  }

  /// The item of this group that operand `k` is; -1 for what is loaded or a number.
  int inside(int i, std::size_t k) const {
    if (reads_partial(i)) return -1;
    const Operand& from = nest_.read(i, k).operand;
    return from.kind == Operand::Kind::Inside ? from.base : -1;
  }
  Value operand(int i, std::size_t k) {
    if (reads_partial(i)) return load(nest_.member(i).partial);
    const auto& [from, stream] = nest_.read(i, k);
    if (from.kind == Operand::Kind::Inside) return rounded(from.base);
    if (from.kind == Operand::Kind::Scalar) return constants_.at(from.base);
    return load(stream);
  }

  /// As others see it who read it from memory. A store rounds by itself.
  Value rounded(int i) {
    const Value y = value(i);
    return item(i).rounds ? tile::narrow(y, item(i).dtype) : y;
  }

  // The value of an item at the current tile, after those it is made of. Reductions were bound by an earlier stage.
  Value value(int wanted) {
    struct Begun {
      int item;
      std::vector<Value> operands;
    };
    std::vector<Begun> stack;
    if (!values_.contains(wanted)) stack.push_back({wanted, {}});
    while (!stack.empty()) {
      const int i = stack.back().item;
      const std::size_t k = stack.back().operands.size();
      if (k == item(i).inputs.size()) {
        values_[i] = emit(i, stack.back().operands);
        stack.pop_back();
      } else if (const int needed = inside(i, k); needed >= 0 && !values_.contains(needed)) {
        stack.push_back({needed, {}});
      } else {
        stack.back().operands.push_back(operand(i, k));
      }
    }
    return values_.at(wanted);
  }
  Value emit(int i, std::span<const Value> x) {
    builder_.set_location(item(i).origin.where);
    builder_.set_check_scope(check_scope(i));
    if (item(i).as<ElementwiseOp>().has_check()) builder_.set_check_masks(mask_of(nest_.row), mask_of(nest_.col));
    const LineOp* const lines = x.size() == 2 && x[0].is_empty() ? LineOp::of(*item(i).op) : nullptr;
    const Value y = lines ? load_line(nest_.read(i, 0).stream, lines->place(builder_, x[1]))
                          : item(i).as<ElementwiseOp>().emit(builder_, x, item(i).dtype);
    const bool narrow = is_integer(item(i).dtype) && tile::compute_type(item(i).dtype) != item(i).dtype;
    return narrow ? tile::narrow(y, item(i).dtype) : y;
  }

  // The place among the program's own checks: other plans, of other sizes or in other processes, number their items otherwise.
  std::int64_t check_scope(int i) {
    if (!item(i).as<ElementwiseOp>().has_check()) return 0;
    check_items_.push_back(i);
    return static_cast<std::int64_t>(check_items_.size()) - 1;
  }

  Value reduce_tile(int i) {
    const tile::Reduction kind = item(i).as<ReduceOp>().kind();
    Value x = tile::broadcast(operand(i, 0), {nest_.rows, nest_.cols});
    const bool kept = is_across(i) && portion_ == Portion::Partials;  // the other reductions' loops
    const bool rows = nest_.row >= 0 && nest_.reduced(nest_.row) != kept, cols = nest_.col >= 0 && nest_.reduced(nest_.col) != kept;
    if (Value inside = mask(rows, cols); !inside.is_empty()) x = tile::select(inside, x, tile::identity_of(builder_, kind, x.dtype()));
    if (cols) x = tile::reduce(x, 1, kind);
    if (rows) x = tile::reduce(x, 0, kind);
    return x;
  }
  // The dtype in which a loop carries a reduction. Sums of f32 are carried in f64, so that the error does not grow with the number of tiles.
  DType carried_type(int i) const {
    const DType dtype = tile::compute_type(item(i).dtype);
    return dtype == DType::f32 && item(i).as<ReduceOp>().kind() == tile::Reduction::Sum ? DType::f64 : dtype;
  }
  Value identity(int i, const Shape& shape, DType dtype) {
    return tile::broadcast(tile::identity_of(builder_, item(i).as<ReduceOp>().kind(), dtype), shape);
  }
  Value combined(int i, Value carried) {
    return tile::combine(item(i).as<ReduceOp>().kind(), carried, tile::cast(reduce_tile(i), carried.dtype()));
  }

  void store(int s, Value y) {
    first_store_.try_emplace(s, ++emitted_);
    Value at = offset(s);
    Value pointer = pointers_[index(s)];
    if (!at.is_empty()) pointer = pointer + at;
    const Shape& shape = pointer.shape();
    if (shape.rank() == 0 && y.shape().rank() != 0) y = tile::reshape(y, {});
    else if (y.shape() != shape) y = tile::broadcast(y, shape);
    builder_.store(pointer, y, mask(nest_.moves(nest_.row, s), nest_.moves(nest_.col, s)));
  }

  // All values before the first store: a result may take the place of an operand.
  using Results = std::vector<std::pair<int, Value>>;
  Results results(Space space, int stage = -1) {
    Results out;
    for (int i : items_) {
      if (stored(i) && member(i).space == space && (stage < 0 || level_of(i) == stage)) out.emplace_back(nest_.member(i).store, value(i));
    }
    return out;
  }
  void store_all(const Results& results) {
    for (const auto& [stream, y] : results) store(stream, y);
  }
  void store_full(int stage) { store_all(results(Space::Full, stage)); }

  // Loads the operands that do not change along any reduced loop (`reduced` false: along any loop that is not reduced).
  void read_once(bool reduced) {
    for (int s : streams_) {
      bool same = !written(s) && stream(s).kind == Operand::Kind::Memory && stream(s).line == 0;
      for (int l = 0; l < loop_count(); ++l) same = same && (loop(l).reduced != reduced || !nest_.moves(l, s));
      if (same) load(s);
    }
  }

  // Every tile of rows of this instance's share, with the sums across carried along.
  void walk_across() {
    const bool many = has_many_tiles();
    const std::vector<int>& sums = nest_.split;
    std::vector<Value> initial;
    for (const int i : sums) initial.push_back(identity(i, {1, nest_.cols}, many ? carried_type(i) : tile::compute_type(item(i).dtype)));
    place_loops(integer(0), true);
    read_once(false);
    const auto outer_values = values_;
    const auto outer_loads = loaded_;
    const Value pace = nest_.in_turn ? share_ : integer(1);
    const auto last = builder_.for_(begin_, end_, pace, initial, [&](Value step, std::span<const Value> carried) {
      place_loops(step, false);
      for (int stage = 0; stage < stages_; ++stage) {
        for (int i : items_) {
          if (is_row_reduction(i) && level_of(i) == stage) values_[i] = reduce_tile(i);
        }
      }
      std::vector<Value> next;
      for (std::size_t k = 0; k < sums.size(); ++k) next.push_back(combined(sums[k], carried[k]));
      const Results full = results(Space::Full), reduced = results(Space::Reduced);
      store_all(full);
      store_all(reduced);
      return next;
    });
    values_ = outer_values;
    loaded_ = outer_loads;
    for (std::size_t k = 0; k < sums.size(); ++k) values_[sums[k]] = tile::cast(last[k], tile::compute_type(item(sums[k]).dtype));
  }

  void write_stage(int stage) {
    std::vector<int> reductions;
    bool stores = false;
    for (int i : items_) {
      if (is_row_reduction(i) && level_of(i) == stage) reductions.push_back(i);
      stores = stores || (stored(i) && member(i).space == Space::Full && level_of(i) == stage);
    }
    if (reductions.empty() && !stores) return;
    if (!looped()) {
      place_loops(integer(0), true);
      for (int i : reductions) values_[i] = reduce_tile(i);
      store_full(stage);
      return;
    }
    if (stages_ == 1) read_once(true);
    const Shape left{nest_.reduced(nest_.row) ? 1 : nest_.rows, nest_.reduced(nest_.col) ? 1 : nest_.cols};
    std::vector<Value> initial;
    for (int i : reductions) initial.push_back(identity(i, left, carried_type(i)));
    const auto outer_values = values_;
    const auto outer_loads = loaded_;
    const auto results = builder_.for_(begin_, end_, integer(1), initial, [&](Value step, std::span<const Value> carried) {
      place_loops(step, true);
      std::vector<Value> next;
      for (std::size_t r = 0; r < reductions.size(); ++r) next.push_back(combined(reductions[r], carried[r]));
      store_full(stage);
      return next;
    });
    values_ = outer_values;
    loaded_ = outer_loads;
    for (std::size_t r = 0; r < reductions.size(); ++r)
      values_[reductions[r]] = tile::cast(results[r], tile::compute_type(item(reductions[r]).dtype));
  }

  // ---- The step.
  Step finish(const KnownProgram& own) {
    Step step;
    step.name = own.program->name;
    Launch& launch = *step.launch();
    launch.program = own.program;
    launch.structure = own.structure;
    const std::int64_t instances = portion_ != Portion::Partials ? nest_.instances
                                   : across()                    ? nest_.splits
                                                                 : nest_.splits * nest_.instances;
    launch.sets.push_back({arguments_, {instances, 1, 1}});
    step.check_items = check_items_;
    step.origin = item(group_.items.back()).origin;
    const double elements = static_cast<double>(numel(group_.domain));
    for (int s : streams_) {
      if (stream(s).kind == Operand::Kind::Index) continue;
      if (stream(s).scratch >= 0) {
        step.scratch.push_back(stream(s).scratch);
        continue;
      }
      (written(s) ? step.writes : step.reads).push_back(stream(s).item);
      double count = stream(s).line != 0 ? elements : 1;
      for (const Loop& l : nest_.loops) count *= stream(s).line == 0 && l.strides[index(s)] != 0 ? static_cast<double>(l.extent) : 1;
      step.bytes += count * static_cast<double>(size_of(nest_.moved_as(item(stream(s).item).dtype)));
    }
    for (int i : items_) {
      step.operations += elements;
      if (item(i).role() == Role::Elementwise && item(i).as<ElementwiseOp>().has_check()) step.checks = true;
    }
    if (portion_ == Portion::Whole || (portion_ == Portion::Partials && across())) find_in_place(step, own);
    return step;
  }

  // A result may take an operand's memory when both lie alike and each element is read only by the instance that writes it, before it does.
  void find_in_place(Step& step, const KnownProgram& own) const {
    std::map<int, int> walks;  // item -> streams that read it
    for (int s = 0; s < nest_.loads; ++s) walks[stream(s).item] += stream(s).kind == Operand::Kind::Memory;
    for (int i : items_) {
      if (!stored(i) || member(i).space != Space::Full) continue;
      if (looped() && level_of(i) != stages_ - 1) continue;
      const int out = nest_.member(i).store;
      for (int s = 0; s < nest_.loads; ++s) {
        if (stream(s).kind != Operand::Kind::Memory || size_of(item(stream(s).item).dtype) != size_of(item(i).dtype)) continue;
        bool alike = stream(s).pattern.offset == 0;
        for (const Loop& l : nest_.loops) alike = alike && l.strides[index(s)] == l.strides[index(out)];
        if (!alike || walks.at(stream(s).item) != 1) continue;
        const auto load = own.last_load.find(s), store = own.first_store.find(out);
        const bool read_first = load != own.last_load.end() && store != own.first_store.end() && load->second < store->second;
        if (read_first) step.in_place.emplace_back(i, stream(s).item);
      }
    }
  }

  bool asynchronous_;  // numbers come from memory
  bool builds_ = true;  // the program, which the plan does not know yet: else only its arguments are wanted
  Builder builder_;
  int emitted_ = 0;  // loads and stores so far
  std::vector<int> check_items_;
  std::map<int, int> last_load_, first_store_;  // stream -> which of them
  std::vector<Reference> arguments_;
  std::vector<Value> pointers_, extents_, counts_, offsets_, lines_, at_;
  std::vector<std::vector<Value>> strides_;  // [loop][stream]
  Value chunks_, instances_, share_, part_elements_;
  Value split_, begin_, end_;  // which share of the tiles is this instance's
  std::map<int, Value> values_, loaded_, constants_;
};

}  // namespace

void lower_group(Plan& plan, int number, KnownPrograms& known, runtime::Device& device) {
  const FusedGroup& group = plan.fusion.groups[index(number)];
  if (!group.has_reduction && numel(group.domain) == 0) return;
  const runtime::TilePreference& tiles = plan.tiles;
  const auto lowering = [&](const LoopNest& nest, Portion portion) {
    return Lowering(plan, group, nest, portion, device.traits().numbers_in_memory);
  };
  LoopNest nest = make_loop_nest(plan, group);
  choose_tiles(nest, tiles);
  const auto follow = [&](const LoopNest& cut) {
    for (const int l : {cut.col, cut.row})
      if (l >= 0) plan.extents.push_back(cut.extent(l));
  };
  follow(nest);
  bool split = false;
  if (!group.across.empty()) {
    split_across(plan, group, nest, tiles);
    split = true;
  } else if (group.has_reduction && !GroupPortion(plan, group, nest, Portion::Whole).after_reduction()) {
    split = split_reduction(plan, group, nest, tiles);
  }
  if (!split) {
    plan.steps.push_back(lowering(nest, Portion::Whole).run(known));
    return;
  }
  plan.steps.push_back(lowering(nest, Portion::Partials).run(known));
  LoopNest combination = combining_nest(nest, group);
  choose_tiles(combination, tiles);
  follow(combination);
  plan.steps.push_back(lowering(combination, Portion::Combination).run(known));
}

}  // namespace tegula::compile
