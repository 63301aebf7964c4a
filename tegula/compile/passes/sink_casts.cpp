#include "tegula/compile/passes/dtypes.h"

#include <algorithm>
#include <map>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

class Sinker {
 public:
  explicit Sinker(const Graph& from) : rewriter_(from), out_(rewriter_.out()) {}

  Graph run() {
    rewriter_.each([this](int, Item& item) {
      if (item.role() != Role::Elementwise && item.role() != Role::Reduce) return;
      for (int& input : item.inputs) input = sunk(input);
    });
    return rewriter_.finish();
  }

 private:
  /// A view that repeats a widened leaf, or shows it with other axes, as the widened view of the leaf itself; anything else as it is.
  int sunk(int input) {
    const auto [views, base] = seen_through_views(out_, input);
    const Item cast = out_[base];
    if (cast.op != cast_op() || cast.dtype != DType::f32 || views.empty()) return input;
    if (numel(out_[input].shape) <= numel(cast.shape) && !shows_all_in_order(input)) return input;
    if (!is_half(out_[cast.inputs[0]].dtype) || out_[cast.inputs[0]].role() != Role::Leaf) return input;
    if (const auto known = sunk_.find(input); known != sunk_.end()) return known->second;
    const int x = rewriter_.insert(out_, views, cast.inputs[0]);
    return sunk_[input] = rewriter_.insert(cast.op, {x}, cast, {.shape = out_[x].shape});
  }

  bool shows_all_in_order(int input) const {
    const Access access = access_of(out_, input);
    return access.layout.is_dense() && numel(access.layout.shape) == numel(out_[access.base].shape) && !out_[access.base].shows_input();
  }

  Rewriter rewriter_;
  const Graph& out_;
  std::map<int, int> sunk_;
};

}  // namespace

void sink_casts(Graph& graph) {
  if (std::ranges::none_of(graph.leaves, [](const Leaf& leaf) { return is_half(leaf.dtype); })) return;
  graph = Sinker(graph).run();
  remove_dead(graph);
}

}  // namespace tegula::compile
