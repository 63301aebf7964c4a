// A fused group as a tile program over its loop nest.
//
// The kept loops are spread over the grid; the reduced ones become a loop over chunks, or nothing when one tile holds them. Values after
// a reduction belong to a later stage: a second loop over the same elements (which are then in the cache), or straight code.

#include <algorithm>
#include <limits>
#include <set>

#include "tegula/compile/group_loops.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {

using tile::Builder;
using tile::Value;

Value identity_value(Builder& b, tile::Reduction kind, DType dtype) {
  const bool least = kind == tile::Reduction::Max, greatest = kind == tile::Reduction::Min;
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return b.constant(least ? -infinity : greatest ? infinity : kind == tile::Reduction::Prod ? 1.0 : 0.0, dtype);
  }
  std::int64_t value = kind == tile::Reduction::Prod || kind == tile::Reduction::All ? 1 : 0;
  if (least || greatest) {
    using Wide = std::numeric_limits<std::int64_t>;
    using Narrow = std::numeric_limits<std::int32_t>;
    if (dtype == DType::boolean) value = greatest;
    else if (dtype == DType::i64) value = least ? Wide::min() : Wide::max();
    else value = least ? Narrow::min() : Narrow::max();
  }
  return b.constant(value, dtype);
}

Value combine(tile::Reduction kind, Value a, Value b) {
  using tile::Word;
  constexpr Word words[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of tile::Reduction
  return tile::binary(words[static_cast<int>(kind)], a, b);
}

/// What of a split reduction a program does.
enum class Portion : std::uint8_t { Whole, Parts, Combination };

class Lowering {
 public:
  Lowering(Plan& plan, const Group& group, const LoopNest& nest, Portion portion, bool asynchronous)
      : plan_(plan),
        graph_(plan.graph),
        group_(group),
        nest_(nest),
        portion_(portion),
        asynchronous_(asynchronous),
        builder_(program_name()) {
    levels();
  }

  /// The number of stages; more than one means work after a reduction.
  bool after_reduction() const { return stages_ > 1; }

  Step run() {
    declare();
    place_instance();
    for (int stage = 0; stage < stages_; ++stage) write_stage(stage);
    if (portion_ == Portion::Parts) {
      for (const auto& [item, stream] : nest_.part_of) store(stream, values_.at(item));
    } else {
      std::vector<std::pair<int, Value>> results;
      for (int i : items_) {
        if (stored(i) && place(i).space == Space::Reduced) results.emplace_back(nest_.store_of.at(i), value(i));
      }
      for (const auto& [stream, y] : results) store(stream, y);
    }
    return finish();
  }

 private:
  const Item& item(int i) const { return graph_[i]; }
  const Place& place(int i) const { return plan_.fusion.places[static_cast<std::size_t>(i)]; }
  bool stored(int i) const { return plan_.fusion.stored[static_cast<std::size_t>(i)]; }
  bool is_reduction(int i) const { return item(i).role() == Role::Reduce; }
  const Stream& stream(int s) const { return nest_.streams[static_cast<std::size_t>(s)]; }
  const Loop& loop(int l) const { return nest_.loops[static_cast<std::size_t>(l)]; }
  int loop_count() const { return static_cast<int>(nest_.loops.size()); }
  bool looped() const { return nest_.chunks != 1; }

  std::string program_name() const {
    std::string text;
    for (int i : group_.items) {
      if (text.size() > 40) return text + "_etc";
      text += (text.empty() ? "" : "_") + std::string(item(i).op->name());
    }
    return text;
  }

  // The level of a value is the number of reductions that must be finished before it can be computed.
  void levels() {
    for (int i : group_.items) {
      const bool wanted = portion_ == Portion::Whole || is_reduction(i) || (place(i).space == Space::Full) == (portion_ == Portion::Parts);
      if (!wanted) continue;
      items_.push_back(i);
      int level = 0;
      for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
        const Operand& operand = nest_.operands.at({i, static_cast<int>(k)});
        if (operand.kind != Operand::Kind::Inside || reads_part(i)) continue;
        level = std::max(level, level_.at(operand.base) + (is_reduction(operand.base) ? 1 : 0));
      }
      level_[i] = level;
      if (is_reduction(i) || place(i).space == Space::Full) stages_ = std::max(stages_, level + 1);
    }
  }
  bool reads_part(int i) const { return portion_ == Portion::Combination && is_reduction(i); }

  // ---- Parameters.
  Value integer(std::int64_t value) { return builder_.constant(value, DType::i64); }
  Value number(std::int64_t value, const std::string& name) {
    arguments_.push_back({Reference::Kind::Integer, -1, value, 0});
    return builder_.scalar(name, DType::i64);
  }

  std::set<int> streams_used() const {
    std::set<int> used;
    for (int i : items_) {
      if (reads_part(i)) used.insert(nest_.part_of.at(i));
      else
        for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
          if (const auto s = nest_.stream_of.find({i, static_cast<int>(k)}); s != nest_.stream_of.end()) used.insert(s->second);
        }
      if (portion_ == Portion::Parts && is_reduction(i)) used.insert(nest_.part_of.at(i));
      else if (stored(i)) used.insert(nest_.store_of.at(i));
    }
    return used;
  }

  bool written(int s) const { return stream(s).scratch >= 0 ? portion_ == Portion::Parts : s >= nest_.loads; }

  void declare() {
    pointers_.resize(nest_.streams.size());
    offsets_.resize(nest_.streams.size());
    strides_.assign(nest_.loops.size(), std::vector<Value>(nest_.streams.size()));
    at_.resize(nest_.loops.size());
    const std::set<int> used = streams_used();
    for (int s : used) {
      const Stream& from = stream(s);
      const std::string label = std::to_string(s);
      if (from.kind == Operand::Kind::Index) {
        if (from.pattern.offset != 0) offsets_[static_cast<std::size_t>(s)] = number(from.pattern.offset, "o" + label);
        continue;
      }
      const DType stored_type = item(from.item).dtype;
      if (from.scratch >= 0) {
        arguments_.push_back({Reference::Kind::Scratch, from.scratch, 0, 0});
        pointers_[static_cast<std::size_t>(s)] = builder_.pointer("part" + label, tile::compute_type(stored_type), written(s));
      } else {
        const auto bytes = from.pattern.offset * static_cast<std::int64_t>(size_of(stored_type));
        arguments_.push_back({Reference::Kind::Value, from.item, bytes, 0});
        pointers_[static_cast<std::size_t>(s)] = builder_.pointer((written(s) ? "out" : "in") + label, stored_type, written(s));
      }
    }
    for (int l = 0; l < loop_count(); ++l) {
      extents_.push_back(number(loop(l).extent, "n" + std::to_string(l)));
      for (int s : used) {
        const std::int64_t stride = loop(l).strides[static_cast<std::size_t>(s)];
        // 0 and 1 are part of the program: they decide which memory instructions it uses.
        const bool fixed = stride == 0 || stride == 1;
        strides_[static_cast<std::size_t>(l)][static_cast<std::size_t>(s)] =
            fixed ? integer(stride) : number(stride, "s" + std::to_string(s) + "_" + std::to_string(l));
      }
    }
    for (int i : items_) {
      for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
        const Operand& operand = nest_.operands.at({i, static_cast<int>(k)});
        if (operand.kind != Operand::Kind::Scalar || constants_.contains(operand.base)) continue;
        arguments_.push_back({Reference::Kind::Constant, item(operand.base).slot, 0, 0});
        const std::string label = "c" + std::to_string(item(operand.base).slot);
        const DType dtype = tile::compute_type(item(operand.base).dtype);
        constants_[operand.base] = asynchronous_ ? builder_.load(builder_.pointer(label, dtype, false)) : builder_.scalar(label, dtype);
      }
    }
    chunks_ = number(nest_.chunks, "chunks");
    for (int l = 0; l < loop_count(); ++l) counts_.push_back(number(nest_.count(l), "tiles" + std::to_string(l)));
  }

  // ---- Where the instance is.
  // Coordinates of the kept or the reduced loops from a running number, innermost loop first.
  void place_loops(Value rest, bool reduced) {
    for (int l = loop_count() - 1; l >= 0; --l) {
      if (loop(l).reduced != reduced) continue;
      bool outermost = true;
      for (int j = 0; j < l; ++j) outermost = outermost && loop(j).reduced != reduced;
      Value index = rest;
      if (!outermost) {
        index = rest % counts_[static_cast<std::size_t>(l)];
        rest = rest / counts_[static_cast<std::size_t>(l)];
      }
      Value& at = at_[static_cast<std::size_t>(l)];
      if (l == nest_.col) at = tile::row(index * integer(nest_.cols) + builder_.arange(0, nest_.cols));
      else if (l == nest_.row) at = tile::col(index * integer(nest_.rows) + builder_.arange(0, nest_.rows));
      else at = index;
    }
  }
  void place_instance() { place_loops(builder_.program_id(0), false); }

  Value mask_of(int l) {
    if (l < 0 || loop(l).extent % nest_.step(l) == 0) return {};
    return at_[static_cast<std::size_t>(l)] < extents_[static_cast<std::size_t>(l)];
  }
  static Value both(Value a, Value b) {
    if (a.is_empty() || b.is_empty()) return a.is_empty() ? b : a;
    return a && b;
  }
  Value mask(bool rows, bool cols) { return both(rows ? mask_of(nest_.row) : Value(), cols ? mask_of(nest_.col) : Value()); }

  Value offset(int s) {
    Value total;
    for (int l = 0; l < loop_count(); ++l) {
      if (loop(l).strides[static_cast<std::size_t>(s)] == 0) continue;
      Value part = at_[static_cast<std::size_t>(l)] * strides_[static_cast<std::size_t>(l)][static_cast<std::size_t>(s)];
      total = total.is_empty() ? part : total + part;
    }
    return total;
  }
  bool runs_over(int s, int l) const { return l >= 0 && loop(l).strides[static_cast<std::size_t>(s)] != 0; }

  // ---- Values.
  Value load(int s) {
    if (const auto found = loaded_.find(s); found != loaded_.end()) return found->second;
    Value at = offset(s), result;
    if (stream(s).kind == Operand::Kind::Index) {
      Value start = offsets_[static_cast<std::size_t>(s)];
      if (at.is_empty()) result = start.is_empty() ? integer(0) : start;
      else result = start.is_empty() ? at : at + start;
    } else {
      Value pointer = pointers_[static_cast<std::size_t>(s)];
      result = builder_.load(at.is_empty() ? pointer : pointer + at, mask(runs_over(s, nest_.row), runs_over(s, nest_.col)));
    }
    return loaded_[s] = result;
  }

  Value operand(int i, std::size_t k) {
    if (reads_part(i)) return load(nest_.part_of.at(i));
    const Operand& from = nest_.operands.at({i, static_cast<int>(k)});
    if (from.kind == Operand::Kind::Inside) return value(from.base);
    if (from.kind == Operand::Kind::Scalar) return constants_.at(from.base);
    return load(nest_.stream_of.at({i, static_cast<int>(k)}));
  }

  // The value of an item at the current tile. Reductions were bound by an earlier stage.
  Value value(int i) {
    if (const auto found = values_.find(i); found != values_.end()) return found->second;
    std::vector<Value> x;
    for (std::size_t k = 0; k < item(i).inputs.size(); ++k) x.push_back(operand(i, k));
    builder_.set_location(item(i).origin.where);
    builder_.set_check_scope(i);
    if (item(i).as<ElementwiseOp>().has_check()) builder_.set_check_masks(mask_of(nest_.row), mask_of(nest_.col));
    Value y = item(i).as<ElementwiseOp>().emit(builder_, x, item(i).dtype);
    if (is_integer(item(i).dtype) && tile::compute_type(item(i).dtype) != item(i).dtype) y = tile::narrow(y, item(i).dtype);
    return values_[i] = y;
  }

  Value reduce_tile(int i) {
    const tile::Reduction kind = item(i).as<ReduceOp>().kind();
    Value x = tile::broadcast(operand(i, 0), {nest_.rows, nest_.cols});
    const bool rows = nest_.reduced(nest_.row), cols = nest_.reduced(nest_.col);
    if (Value inside = mask(rows, cols); !inside.is_empty()) x = tile::select(inside, x, identity_value(builder_, kind, x.dtype()));
    if (cols) x = tile::reduce(x, 1, kind);
    if (rows) x = tile::reduce(x, 0, kind);
    return x;
  }

  void store(int s, Value y) {
    Value at = offset(s);
    Value pointer = pointers_[static_cast<std::size_t>(s)];
    if (!at.is_empty()) pointer = pointer + at;
    const Shape& shape = pointer.shape();
    if (shape.rank() == 0 && y.shape().rank() != 0) y = tile::reshape(y, {});
    else if (y.shape() != shape) y = tile::broadcast(y, shape);
    builder_.store(pointer, y, mask(runs_over(s, nest_.row), runs_over(s, nest_.col)));
  }

  // All values before the first store: a result may take the place of an operand.
  void store_full(int stage) {
    std::vector<std::pair<int, Value>> results;
    for (int i : items_) {
      if (stored(i) && place(i).space == Space::Full && level_.at(i) == stage) results.emplace_back(nest_.store_of.at(i), value(i));
    }
    for (const auto& [s, y] : results) store(s, y);
  }

  void write_stage(int stage) {
    std::vector<int> reductions;
    bool stores = false;
    for (int i : items_) {
      if (is_reduction(i) && level_.at(i) == stage) reductions.push_back(i);
      stores = stores || (stored(i) && place(i).space == Space::Full && level_.at(i) == stage);
    }
    if (reductions.empty() && !stores) return;
    if (!looped()) {
      place_loops(integer(0), true);
      for (int i : reductions) values_[i] = reduce_tile(i);
      store_full(stage);
      return;
    }
    const Shape left{nest_.reduced(nest_.row) ? 1 : nest_.rows, nest_.reduced(nest_.col) ? 1 : nest_.cols};
    std::vector<Value> initial;
    for (int i : reductions) {
      initial.push_back(tile::broadcast(identity_value(builder_, item(i).as<ReduceOp>().kind(), tile::compute_type(item(i).dtype)), left));
    }
    const auto outer_values = values_;
    const auto outer_loads = loaded_;
    const auto results = builder_.for_(integer(0), chunks_, integer(1), initial, [&](Value step, std::span<const Value> carried) {
      place_loops(step, true);
      std::vector<Value> next;
      for (std::size_t r = 0; r < reductions.size(); ++r) {
        next.push_back(combine(item(reductions[r]).as<ReduceOp>().kind(), carried[r], reduce_tile(reductions[r])));
      }
      store_full(stage);
      return next;
    });
    values_ = outer_values;
    loaded_ = outer_loads;
    for (std::size_t r = 0; r < reductions.size(); ++r) values_[reductions[r]] = results[r];
  }

  // ---- The step.
  Step finish() {
    Step step;
    step.name = builder_.program().name;
    step.program = builder_.finish();
    step.structure = tile::structure(step.program);
    step.sets.push_back({arguments_, {nest_.instances, 1, 1}});
    step.origin = item(group_.items.back()).origin;
    const double elements = static_cast<double>(numel(group_.domain));
    for (int s : streams_used()) {
      if (stream(s).kind == Operand::Kind::Index) continue;
      if (stream(s).scratch >= 0) {
        step.scratch.push_back(stream(s).scratch);
        continue;
      }
      (written(s) ? step.writes : step.reads).push_back(stream(s).item);
      double count = 1;
      for (const Loop& l : nest_.loops) count *= l.strides[static_cast<std::size_t>(s)] != 0 ? static_cast<double>(l.extent) : 1;
      step.bytes += count * static_cast<double>(size_of(item(stream(s).item).dtype));
    }
    for (int i : items_) {
      step.operations += elements;
      if (item(i).role() == Role::Elementwise && item(i).as<ElementwiseOp>().has_check()) step.checks = true;
    }
    if (portion_ == Portion::Whole) find_in_place(step);
    return step;
  }

  // A result may take an operand's memory when both lie alike and each element is read only by the instance that writes it, before it does.
  void find_in_place(Step& step) const {
    for (int i : items_) {
      if (!stored(i) || place(i).space != Space::Full) continue;
      if (looped() && level_.at(i) != stages_ - 1) continue;
      const int out = nest_.store_of.at(i);
      for (int s = 0; s < nest_.loads; ++s) {
        if (stream(s).kind != Operand::Kind::Memory || size_of(item(stream(s).item).dtype) != size_of(item(i).dtype)) continue;
        int walks = 0;
        for (int t = 0; t < nest_.loads; ++t) walks += stream(t).kind == Operand::Kind::Memory && stream(t).item == stream(s).item;
        bool alike = walks == 1 && stream(s).pattern.offset == 0;
        for (const Loop& l : nest_.loops)
          alike = alike && l.strides[static_cast<std::size_t>(s)] == l.strides[static_cast<std::size_t>(out)];
        if (alike) step.in_place.emplace_back(i, stream(s).item);
      }
    }
  }

  Plan& plan_;
  const Graph& graph_;
  const Group& group_;
  const LoopNest& nest_;
  Portion portion_;
  bool asynchronous_;  // numbers come from memory
  Builder builder_;
  std::vector<int> items_;
  std::map<int, int> level_;
  int stages_ = 0;
  std::vector<Reference> arguments_;
  std::vector<Value> pointers_, extents_, counts_, offsets_, at_;
  std::vector<std::vector<Value>> strides_;  // [loop][stream]
  Value chunks_;
  std::map<int, Value> values_, loaded_, constants_;
};

}  // namespace

void lower_group(Plan& plan, int number, runtime::Device& device) {
  const Group& group = plan.fusion.groups[static_cast<std::size_t>(number)];
  if (!group.has_reduction && numel(group.domain) == 0) return;
  const runtime::TilePreference tiles = device.tiles();
  const auto lowering = [&](const LoopNest& nest, Portion portion) { return Lowering(plan, group, nest, portion, device.asynchronous()); };
  LoopNest nest = make_loop_nest(plan, group);
  choose_tiles(nest, tiles);
  if (group.has_reduction && !lowering(nest, Portion::Whole).after_reduction() && split_reduction(plan, group, nest, tiles)) {
    choose_tiles(nest, tiles);
    plan.steps.push_back(lowering(nest, Portion::Parts).run());
    LoopNest combination = combining_nest(nest);
    choose_tiles(combination, tiles);
    plan.steps.push_back(lowering(combination, Portion::Combination).run());
  } else {
    plan.steps.push_back(lowering(nest, Portion::Whole).run());
  }
}

}  // namespace tegula::compile
