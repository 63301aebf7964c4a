#include "tegula/nn/tensor_parallel.h"

#include "tegula/core/error.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/dist/parallel/data_parallel.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/trace.h"

namespace tegula::dist {
namespace {

/// True if the name matches the pattern, in which * is any part between two dots.
bool fits(std::string_view pattern, std::string_view name) {
  while (!pattern.empty() && !name.empty()) {
    const std::string_view want = pattern.substr(0, pattern.find('.')), got = name.substr(0, name.find('.'));
    if (want != "*" && want != got) return false;
    if ((want.size() == pattern.size()) != (got.size() == name.size())) return false;
    pattern.remove_prefix(std::min(pattern.size(), want.size() + 1)), name.remove_prefix(std::min(name.size(), got.size() + 1));
  }
  return pattern.empty() && name.empty();
}

std::string_view name_of(const LayerPlan& plan) {
  constexpr std::string_view kNames[] = {"ColwiseParallel", "RowwiseParallel", "VocabularyParallel", "SequenceParallel"};
  return kNames[plan.style.index()];
}

class Applier final : public nn::Visitor {
 public:
  Applier(const TensorPlan& plan, const TensorParallelOptions& options, const Line& where)
      : plan_(plan),
        options_(options),
        where_(where),
        found_(plan.size()) {}

  void split(const nn::Path& path, Split& split, std::initializer_list<nn::SplitField> fields) override {
    const std::string layer = path.text();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!fits(plan_[i].layers, layer)) continue;
      ++found_[i];
      apply(plan_[i], layer, split, fields);
    }
  }

  int finish() const {
    int layers = 0;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (found_[i] == 0 && !plan_[i].optional)
        refuse(plan_[i].layers, "no layer of that name that can be shared out", "the names of parameters(net), without those of weights");
      layers += found_[i];
    }
    return layers;
  }

 private:
  [[noreturn]] void refuse(const std::string& layer, const std::string& got, const std::string& expected) const {
    throw Error({.op = "tensor_parallel", .got = layer + ": " + got, .expected = expected, .where = where_});
  }

  void apply(const LayerPlan& plan, const std::string& layer, Split& split, std::initializer_list<nn::SplitField> fields) const {
    if (options_.group.size() == 1) return;
    if (!split.is(Split::Style::None)) refuse(layer, "a layer that is shared out already", "each layer in one line of the plan");
    Split next = split;
    next.group = options_.group, next.step_axis = options_.step_axis;
    const bool uneven = std::holds_alternative<VocabularyParallel>(plan.style);
    std::visit([&](const auto& style) { take(next, style); }, plan.style);
    check_placements(plan, layer, next);
    const bool by_rows = next.is(Split::Style::Rows);
    bool has_axis = false;
    for (const nn::SplitField& field : fields) {
      const int axis = by_rows ? field.rows : field.columns;
      if (axis == nn::SplitField::kNone) continue;
      has_axis = true;
      if (next.is(Split::Style::Steps) || !field.field->defined()) continue;
      const std::int64_t blocks = by_rows ? 1 : field.blocks;
      if (!uneven) check_shares(layer, field.field->shape()[axis] / blocks, by_rows ? 1 : split.units);
      next.size = field.field->shape()[axis];
      share_out(*field.field, axis, blocks);
    }
    if (has_axis == next.is(Split::Style::Steps)) {
      refuse(layer, std::string(name_of(plan)),
             has_axis ? "one of the other styles: its weights are shared out"
                      : "SequenceParallel: it has no weights that could be shared out");
    }
    split = next;
  }

  static void take(Split& split, const ColwiseParallel& style) {
    split.style = Split::Style::Columns, split.input = style.input, split.output = style.output;
  }
  static void take(Split& split, const RowwiseParallel& style) {
    split.style = Split::Style::Rows, split.input = style.input, split.output = style.output;
  }
  static void take(Split& split, const VocabularyParallel& style) {
    split.style = split.vocabulary, split.scores = style.scores;
    split.output = split.is(Split::Style::Rows) ? style.output : style.scores;
  }
  static void take(Split& split, const SequenceParallel& style) {
    split.style = Split::Style::Steps, split.input = style.input, split.output = style.output;
  }

  /// Throws Error for placements that would exchange more than needed, and for meaningless ones.
  void check_placements(const LayerPlan& plan, const std::string& layer, const Split& split) const {
    using enum Placement;
    const bool fine = split.is(Split::Style::Columns) ? split.output != Sequence
                      : split.is(Split::Style::Rows)  ? split.input != Sequence
                                                      : split.input != Features && split.output != Features;
    if (!fine || split.scores == Sequence)
      refuse(layer, std::string(name_of(plan)) + " with such an input or output", "the placements that its declaration names");
  }

  void check_shares(const std::string& layer, std::int64_t features, std::int64_t units) const {
    const int ranks = options_.group.size();
    const std::int64_t pieces = units > 1 ? units : features;
    if (pieces % ranks == 0) return;
    refuse(layer, std::to_string(pieces) + (units > 1 ? " heads" : " features") + " for " + std::to_string(ranks) + " ranks",
           "a number that the ranks divide");
  }

  void share_out(Variable& field, int axis, std::int64_t blocks) const {
    auto partition = std::make_shared<const AxisPartition>(options_.group, field.shape(), axis, blocks, where_);
    Variable part(partition->part(field.read(where_), where_), where_);
    part.cell()->settled();  // while the whole is there
    part.cell()->set_partition(std::move(partition));
    field = std::move(part);
  }

  const TensorPlan& plan_;
  const TensorParallelOptions& options_;
  Line where_;
  std::vector<int> found_;
};

}  // namespace

int tensor_parallel(const nn::AnyModule& net, const TensorPlan& plan, const TensorParallelOptions& options, Line where) {
  refuse_in_trace("tensor_parallel", where);
  const In frame("tensor_parallel", where);
  broadcast_values(nn::state(net), options.group, 0, where);
  Generator& numbers = default_generator();  // zeros of dropout are the same in tensors that all ranks have
  broadcast_values({{"seed", numbers.seed_variable().cell()}, {"counter", numbers.counter_variable().cell()}}, options.group, 0, where);
  Applier applier(plan, options, where);
  net.visit(applier);
  return applier.finish();
}

}  // namespace tegula::dist
