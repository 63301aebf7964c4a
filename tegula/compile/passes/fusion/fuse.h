#pragma once
// Which items become one tile program.
//
// A group has one iteration domain (a shape) and at most one set of reduced axes. Its items are elementwise over the whole domain
// (Full), reductions along those axes, or elementwise over what is left (Reduced). A value used only inside its group never reaches
// memory: softmax, a normalisation, a loss with its gradient are one group each. Beside those there may be reductions along all the other
// axes and elementwise work on their results (Across), which nothing else of the group reads: the gradients of a normalisation's weight
// and bias go with that of its input.

#include <cstdint>
#include <set>

#include "tegula/compile/graph.h"
#include "tegula/compile/view_axes.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

enum class Space : std::uint8_t { None, Full, Reduced, Across };

/// How an item sits in its group: which domain axis each of its axes runs over (-1: none, the size is 1 or it is broadcast).
struct Membership {
  int group = -1;
  Space space = Space::None;
  AxisMap axes{};
};

struct FusedGroup {
  std::vector<int> items;  // in program order
  Shape domain;
  Dims reduced;            // sorted domain axes; empty without reductions
  bool has_reduction = false;
  Dims across;             // sorted: the axes of the reductions whose space is Across, all that are not reduced; empty without such
};

/// An item looked at through its views: the base item, and for each axis of the view the axis of the base it runs over (-1: none).
/// `plain` is false when a view does more than insert, drop, permute or broadcast axes.
struct Through {
  int base = -1;
  bool plain = true;
  AxisMap axes{};
};

struct Fusion {
  std::vector<Through> through;     // one per item
  std::vector<Membership> members;  // one per item
  std::vector<FusedGroup> groups;
  std::vector<bool> stored;   // items whose value must reach memory
};

/// Items over one domain become groups: chains, and row reductions with the items around them.
///
/// After materialize, because it asks where values lie; before lower, which only writes down what is decided here.
Fusion fuse(const Graph& graph, runtime::Device& device);

/// How each item is seen.
std::vector<Through> through_views(const Graph& graph);
/// The same of item i, which shows no other.
Through itself(const Graph& graph, int i);

/// Calls `visit` with the base of an item's views and with every item that a barrier among the views waits for.
template <class Visit>
void each_behind_views(const Graph& graph, int item, Visit visit) {
  if (!graph.place(item).waits) return visit(graph.place(item).value);
  std::vector<int> stack{item};
  std::set<int> known;
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    if (!known.insert(i).second) continue;
    if (graph.place(i).value == i) visit(i);
    else if (!graph.place(i).waits) stack.push_back(graph.place(i).value);
    else stack.insert(stack.end(), graph[i].inputs.begin(), graph[i].inputs.end());
  }
}

/// Sets Fusion::stored for the values that are read outside their group.
void mark_stored(const Graph& graph, Fusion& fusion);
/// A value stored as a half is also rounded where it is computed: its copy in another group equals the stored value.
///
/// After fuse, which decides what is stored; before recompute_cheap, which makes such copies.
void round_stored(Graph& graph, const Fusion& fusion);
/// A little arithmetic on values in memory is computed again by each group that reads it, instead of stored.
///
/// Values that must be stored are computed again only in groups that read their operands already. Adds items to the graph.
void recompute_cheap(Graph& graph, Fusion& fusion);
/// Moves the reductions across into a group of their own, for when one program cannot compute both.
void separate_across(const Graph& graph, Fusion& fusion, int group);

/// Input `k` of `item` as the lowering reads it: a value of the same group, a scalar, or memory with strides along the domain axes.
struct Operand {
  enum class Kind : std::uint8_t { Inside, Memory, Scalar, Index } kind = Kind::Memory;
  int base = -1;     // the item
  Layout pattern;    // Memory, Index: shape = domain (size 1 on axes it does not run over), strides per domain axis, offset
  std::int64_t line = 0;  // Memory of a LineOp: the stride between its lines, whose number comes on top; 0: no such operand
};
/// The pattern of a layout whose axes run over those of the domain as `axes` says.
Layout over_domain(const Shape& domain, const Layout& layout, const AxisMap& axes);
Operand operand_of(const Graph& graph, const Fusion& fusion, int item, std::size_t k);

/// The most operands of all items of a group together (a single item may have more). A larger program takes compilers long, and its arguments
/// exceed those of a launch (4 KB). An item counts as at least one.
inline constexpr int kMostOperands = 384;
inline int operands(const Item& item) { return item.inputs.empty() ? 1 : static_cast<int>(item.inputs.size()); }

/// The longest extent that one program instance reduces alone, in elements, and the fewest instances with which work may follow a
/// reduction in the same program. Fixed numbers: results must not depend on the machine's thread count.
inline constexpr std::int64_t kLongestReduction = 1 << 18;
inline constexpr std::int64_t kEnoughInstances = 16;

}  // namespace tegula::compile
