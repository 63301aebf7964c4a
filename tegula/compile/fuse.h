#pragma once
// Which items become one tile program.
//
// A group has one iteration domain (a shape) and at most one set of reduced axes. Its items are elementwise over the whole domain
// (Full), reductions along those axes, or elementwise over what is left (Reduced). A value used only inside its group never reaches
// memory: softmax, a normalisation, a loss with its gradient are one group each. Beside those there may be reductions along all the other
// axes and elementwise work on their results (Across), which nothing else of the group reads: the gradients of a normalisation's weight
// and bias go with that of its input.
//
// Runs after materialize, because it asks where values lie; before lower, which only has to write down what is decided here.

#include <cstdint>

#include "tegula/compile/passes.h"

namespace tegula::compile {

enum class Space : std::uint8_t { None, Full, Reduced, Across };

/// How an item sits in its group: which domain axis each of its axes runs over (-1: none, the size is 1 or it is broadcast).
struct Place {
  int group = -1;
  Space space = Space::None;
  std::vector<int> axes;
};

struct Group {
  std::vector<int> items;  // in program order
  Shape domain;
  Dims reduced;            // sorted domain axes; empty without reductions
  bool has_reduction = false;
  Dims across;             // sorted: the axes of the reductions whose space is Across, all that are not reduced; empty without such
};

struct Fusion {
  std::vector<Place> places;  // one per item
  std::vector<Group> groups;
  std::vector<bool> stored;   // items whose value must reach memory
};

Fusion fuse(const Graph& graph, runtime::Device& device);

/// An input looked at through its views: the base item, and for each axis of the view the axis of the base it runs over (-1: none).
/// `plain` is false when a view does more than insert, drop, permute or broadcast axes.
struct Through {
  int base;
  bool plain = true;
  std::vector<int> axes;
};

Through look_through(const Graph& graph, int item);

/// Notes which values leave their group.
void mark_stored(const Graph& graph, Fusion& fusion);
/// Values between groups that are a little arithmetic on what lies in memory anyway are computed again by each group that reads them,
/// instead of stored; where they must be stored, by the groups that read what they are made of. Adds items to the graph.
void recompute_cheap(Graph& graph, Fusion& fusion);
/// Makes a group of its own of the reductions across, where one program cannot do both.
void separate_across(const Graph& graph, Fusion& fusion, int group);

/// What input `k` of `item` is for the lowering: a value of the same group, or memory, seen along the domain axes.
struct Operand {
  enum class Kind : std::uint8_t { Inside, Memory, Scalar, Index } kind = Kind::Memory;
  int base = -1;     // the item
  Layout pattern;    // Memory, Index: shape = domain (size 1 on axes it does not run over), strides per domain axis, offset
};
Operand operand_of(const Graph& graph, const Fusion& fusion, int item, std::size_t k);

/// Elements beyond which a program instance that keeps a whole reduced extent to itself is no longer sensible, and the number of
/// instances without which nothing may follow a reduction in its program. Fixed numbers: results must not depend on the machine's thread count.
inline constexpr std::int64_t kLongestReduction = 1 << 18;
inline constexpr std::int64_t kEnoughInstances = 16;

}  // namespace tegula::compile
