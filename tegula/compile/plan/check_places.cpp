// Fused values, and the plan of what is kept.

#include <algorithm>

#include "tegula/compile/plan/check_plan.h"
#include "tegula/core/error.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

[[noreturn]] void fail(const Graph& graph, int item, const std::string& got, const std::string& expected) {
  throw Error({.op = "check_plan",
               .got = "%" + std::to_string(item) + " (" + std::string(graph[item].op->name()) + ") " + got,
               .expected = expected,
               .advice = "this is a bug in Tegula: please report it with what TEGULA_PRINT=plan,tile shows",
               .where = graph[item].origin.where});
}

/// How far from each other, along each axis of a group's domain, the elements lie that belong to neighbouring places.
Strides strides_over(const Shape& domain, const Layout& layout, const AxisMap& axes) {
  Strides out = Dims::filled(domain.rank(), 0);
  for (int i = 0; i < layout.shape.rank(); ++i) {
    const int axis = axes[index(i)];
    if (axis >= 0 && layout.shape[i] != 1) out[axis] += layout.strides[i];
  }
  return out;
}

class Places {
 public:
  Places(const Graph& graph, std::span<const Place> places, const Fusion& fusion) : graph_(graph), places_(places), fusion_(fusion) {}

  void run() const {
    for (std::size_t g = 0; g < fusion_.groups.size(); ++g) {
      for (const int item : fusion_.groups[g].items) check(item, static_cast<int>(g));
    }
  }

 private:
  const Membership& member(int item) const { return fusion_.members[index(item)]; }

  void check(int item, int number) const {
    const FusedGroup& group = fusion_.groups[index(number)];
    const Item& self = graph_[item];
    const Membership& own = member(item);
    if (own.group != number) fail(graph_, item, "is listed in another group", "its own");
    const bool reduction = self.role() == Role::Reduce;
    if (reduction && !(self.as<ReduceOp>().axes() == (own.space == Space::Across ? group.across : group.reduced)))
      fail(graph_, item, "reduces other axes than its group", "those of the group");
    if (own.space == Space::Full && !(self.shape == group.domain)) fail(graph_, item, "is smaller than its group's domain", "all of it");
    for (int i = 0; i < self.shape.rank(); ++i) {
      const int axis = own.axes[index(i)];
      if (self.shape[i] != 1 && (axis < 0 || group.domain[axis] != self.shape[i]))
        fail(graph_, item, "has an axis " + std::to_string(i) + " that runs over none of its group", "one of the same size");
    }
    if (numel(group.domain) == 0) return;
    for (std::size_t k = 0; k < self.inputs.size(); ++k) {
      const Operand operand = operand_of(graph_, fusion_, item, k);
      if (operand.kind == Operand::Kind::Inside) check_inside(item, k, operand.base, group);
    }
  }

  // The program combines elements at the same place in registers: through its views the item must read exactly that element.
  void check_inside(int item, std::size_t k, int base, const FusedGroup& group) const {
    const bool reduction = graph_[item].role() == Role::Reduce;
    const Space own = member(item).space, from = member(base).space;
    const Place& place = places_[index(graph_[item].inputs[k])];
    const std::string reads = "reads %" + std::to_string(base) + " inside its program";
    const bool ready = reduction ? from == Space::Full : own == from || (own == Space::Full && from == Space::Reduced);
    if (place.value != base || !ready) fail(graph_, item, reads, "a value that is computed for the same elements");
    const AxisMap& axes = reduction ? kSameAxes : member(item).axes;
    const Layout lies = layout_of(graph_[base]);
    const Strides wanted = strides_over(group.domain, place.layout, axes), given = strides_over(group.domain, lies, member(base).axes);
    bool same = place.layout.offset == 0;
    for (int axis = 0; axis < group.domain.rank(); ++axis) same = same && (group.domain[axis] == 1 || wanted[axis] == given[axis]);
    if (!same)
      fail(graph_, item, reads + " as if it read offset 0, strides " + to_string(given) + " of the domain " + to_string(group.domain),
           "offset " + std::to_string(place.layout.offset) + ", strides " + to_string(wanted) + ", as its views say");
  }

  const Graph& graph_;
  std::span<const Place> places_;
  const Fusion& fusion_;
};

}  // namespace

void check_places(const Graph& graph, std::span<const Place> places, const Fusion& fusion) { Places(graph, places, fusion).run(); }

void check_joins(const Graph& graph, std::span<const Place> places) {
  std::vector<int> found(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    if (!graph[i].assembled) continue;
    const Joins* const join = graph[i].join();
    if (!join || !join->joined_at().empty()) fail(graph, i, "is said to be put together from its pieces", "a join without gaps");
    const int axis = join->joined_axis();
    const Layout whole = layout_of(graph[i]);
    std::int64_t end = 0;
    for (const int input : graph[i].inputs) {
      const Place& seen = places[index(input)];
      const Item& piece = graph[seen.value];
      ++found[index(seen.value)];
      if (piece.within->whole != i || numel(piece.shape) != numel(seen.layout.shape))
        fail(graph, seen.value, "is a piece of %" + std::to_string(i), "to lie within it as a whole");
      Layout part = whole;
      part.shape[axis] = seen.layout.shape[axis];
      part.offset = end * whole.strides[axis];
      Layout lies = seen.layout;
      lies.offset += piece.within->layout.offset;
      bool same = lies.shape == part.shape && lies.offset == part.offset && piece.dtype == graph[i].dtype;
      for (int a = 0; a < part.shape.rank() && same; ++a) same = part.shape[a] == 1 || part.strides[a] == lies.strides[a];
      if (!same)
        fail(graph, seen.value,
             "lies within %" + std::to_string(i) + " from " + std::to_string(lies.offset) + " on, strides " + to_string(lies.strides),
             std::to_string(part.offset) + ", strides " + to_string(part.strides));
      end += part.shape[axis];
    }
    if (end != whole.shape[axis]) fail(graph, i, "has pieces of " + std::to_string(end), std::to_string(whole.shape[axis]));
  }
  for (int i = 0; i < graph.size(); ++i) {
    if (graph[i].within->whole >= 0 && found[index(i)] != 1)
      fail(graph, i, "lies within %" + std::to_string(graph[i].within->whole), "to be one of its pieces, once");
  }
}

void check_kept(const Plan& plan, const Graph& once) {
  const std::size_t kept = once.outputs.size(), all = plan.graph.leaves.size(), given = all - std::min(kept, all);
  for (std::size_t o = 0; o < kept; ++o) {
    const int output = once.outputs[o];
    const Item& item = once[output];
    const bool there = given + o < all;
    if (!there || plan.graph.leaves[given + o].shape != item.shape || plan.graph.leaves[given + o].dtype != item.dtype ||
        plan.graph.leaves[given + o].layout != layout_of(item))
      fail(once, output, "is kept", "leaf " + std::to_string(given + o) + " of the plan to be what it computes");
  }
  if (!once.updates.empty()) fail(once, once.updates[0].item, "is written to a Variable by what runs once", "no such write");
  for (const Graph::Update& update : plan.graph.updates) {
    if (static_cast<std::size_t>(update.leaf) >= given) fail(plan.graph, update.item, "is written to a kept value", "a Variable");
    if (const int read = items_of_leaves(once)[index(update.leaf)]; read >= 0)
      fail(once, read, "is read once, and written at each run", "one of the two");
  }
}

}  // namespace tegula::compile
