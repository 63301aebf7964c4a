#pragma once
// The flat graph the passes work on: nodes as items in program order, addressed by number.

#include <span>
#include <vector>

#include "tegula/compile/expression.h"
#include "tegula/core/rare.h"
#include "tegula/graph/node.h"
#include "tegula/runtime/blocked.h"
#include "tegula/runtime/call_description.h"

namespace tegula::compile {

/// The number of an item, group or step as a place in a list.
constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// A kernel input whose elements the kernel computes itself instead of reading them.
struct Prologue {
  int input = -1;  // -1: none
  Shape shape;
  int first_extra = 0;  // of the item's inputs: from here on only the expression reads them
  Expression value;     // of one element
};

/// The weight of a call, input 1, as pack_weights has laid it: its elements in blocks, as one axis.
struct Packed {
  runtime::Blocked blocks;
  Shape weight;  // the shape before
};

/// The place of a value that is stored inside a concatenation (a join) instead of in memory of its own.
struct Within {
  int whole = -1;  // the join, a later item that reads it; -1: it has its own place
  Layout layout;   // of the value over the elements of the join
};

struct Item {
  Ref<const Op> op;
  std::vector<int> inputs;  // numbers of earlier items
  Shape shape;
  DType dtype = DType::f32;
  std::vector<Result> results;  // of an op with several: the item itself has no value; its parts have, and only they read it
  bool rounds = false;  // a half that is rounded where it is computed, also unstored: all readers see the same value
  Precision precision = Precision::fp32;  // of its node
  Origin origin;
  int node = -1;                 // its place in Reading::order; -1 for what passes inserted
  int slot = -1;                 // Leaf: which leaf. Scalar: which constant
  Rare<runtime::Expression> epilogue;  // Library: reads the inputs after the op's own
  runtime::Arithmetic arithmetic = runtime::Arithmetic::Full;  // Library
  bool keeps_nan = true;  // Library: false if its epilogue need not (only_answers)
  Rare<Packed> packed;  // Library: without blocks, its weight lies by strides
  Dims order;                    // memory order of the value's axes, outermost first; empty: row-major
  Rare<Prologue> prologue;       // Kernel
  Rare<Within> within;           // after store_within
  bool assembled = false;        // Kernel, a join: all its pieces are stored within it, so it does no work

  Role role() const { return op->role(); }
  bool is_part() const { return role() == Role::Part; }
  /// An elementwise op of two values that this word of the tile IR computes.
  bool is(tile::Word word) const { return role() == Role::Elementwise && inputs.size() == 2 && as<ElementwiseOp>().word() == word; }
  /// A product of matrices that is a call.
  bool multiplies() const { return role() == Role::Library && as<LibraryOp>().multiplies_matrices(); }
  /// Its pieces side by side; null of an item that is no join.
  const Joins* join() const { return role() == Role::Kernel ? as<KernelOp>().join() : nullptr; }
  /// The value, or that below a view, lies in memory: it is neither a number of the run nor an index.
  bool in_memory() const { return role() != Role::Scalar && role() != Role::Index; }
  /// A program or a call computes the value, which an op with several results leaves to its parts.
  bool is_computed() const {
    const Role own = role();
    const bool works = own == Role::Elementwise || own == Role::Reduce || own == Role::Library || own == Role::Kernel;
    return own == Role::Part || (works && results.empty());
  }
  /// A view or a barrier: its value is its first input's memory. After simplify no other op of this kind is left.
  bool shows_input() const { return tegula::shows_input(role()); }
  template <class O>
  const O& as() const {
    return static_cast<const O&>(*op);
  }
};

struct Leaf {
  Shape shape;
  DType dtype;
  Layout layout;
  bool steady = false;  // the same from run to run while its version is (a Variable that the graph does not write, a captured tensor)
};

/// The memory of a value, within that of the outermost join that it is stored in. Two values of one root share memory exactly if their intervals
/// overlap: [first, last) numbers the join's elements piece by piece, so each piece is one interval whatever its strides are.
struct Spot {
  int root = -1;  // the join, or the value itself
  std::int64_t offset = 0;  // of the first element, in elements of the root
  std::int64_t first = 0, last = 0;  // the interval [first, last)
  int bottom = -1;  // whose memory that of the root is: the value or leaf at the bottom of its chain of overwrites, or itself
};

/// The place of an item's elements. Views and barriers show elements of another item; all others have their own.
struct Place {
  int value = -1;  // the item that holds the elements: itself, or what a view or barrier shows
  Layout layout;  // over the elements of the value
  bool waits = false;  // it is a barrier, or looks through one
  Spot spot;  // of the value, after store_within
};

struct Graph {
  std::vector<Item> items;
  std::vector<Place> places;  // one for each item, from materialize on: passes keep them (Rewriter, remove_dead)
  std::vector<Leaf> leaves;
  std::vector<DType> constants;  // one entry of the parameter block each; the derived ones come last
  std::vector<Expression> derived;  // scalars that the host computes of earlier ones before a run
  std::vector<int> outputs;  // results returned to the caller, each in a buffer of its own
  struct Update {
    int leaf;  // a Variable's value …
    int item;  // … becomes this
  };
  std::vector<Update> updates;

  Item& operator[](int i) { return items[index(i)]; }
  const Item& operator[](int i) const { return items[index(i)]; }
  int size() const { return static_cast<int>(items.size()); }
  /// After materialize.
  const Place& place(int i) const { return places[index(i)]; }
  const Leaf& leaf(const Item& item) const { return leaves[index(item.slot)]; }
};

/// A pending graph read from its nodes: the structural key, and the data that differs between two graphs of equal key.
struct Reading {
  Words key;
  std::vector<const Node*> order;  // every node, program order; nodes with a value are leaves
  std::vector<const Node*> leaves;  // by first visit
  std::vector<std::uint64_t> constants;  // by first visit, as Number::bits
  std::vector<const Node*> constant_nodes;
  std::vector<int> uses;  // per node of `order`: how many inputs of others it is
  std::vector<std::size_t> inputs;  // of all nodes, one after the other, as places in `order`
  std::vector<std::size_t> first_input;  // where a node's begin; one more at the end

  std::span<const std::size_t> inputs_of(std::size_t i) const {
    return std::span(inputs).subspan(first_input[i], first_input[i + 1] - first_input[i]);
  }
};

/// True if evaluation stops at the node: it has a value, or is an argument of a trace.
bool is_leaf(const Node& node);

/// Reads the graph below `roots`, up to nodes that have a value (or are leaves without one: arguments of a trace).
Reading read(std::span<const Node* const> roots);

/// The flat graph of a reading. `updates[i]` says that leaf `first` receives the value of root `second`.
Graph flatten(const Reading& reading, std::span<const Node* const> outputs, std::span<const std::pair<const Node*, const Node*>> updates);

/// How a call's epilogue reads input k; nothing of the op's own inputs.
std::optional<runtime::Expression::Source> read_by_epilogue(const Item& item, std::size_t k);

/// Bytes of a stored item.
std::size_t bytes_of(const Item& item);

/// The item that computes item i: for a part, the op with several results; otherwise i.
int producer_of(const Graph& graph, int i);
/// The number of the producer's result that item i is.
int result_of(const Graph& graph, int i);

/// The item that stands for each leaf; -1 where nothing reads it.
std::vector<int> items_of_leaves(const Graph& graph);

/// True if the op has a check that may fail while it runs.
bool has_check(const Item& item);
/// The input whose storage the result takes over (KernelOp::overwrites); -1: none.
int input_overwritten(const Op& op, int result = 0);
/// input_overwritten of all results of the item.
std::vector<int> inputs_overwritten(const Item& item);
/// The value or leaf that the item writes over, below its views; -1 if the item has memory of its own.
int overwritten(const Graph& graph, int i);
/// Per item: true if it writes a result over a leaf. Such an item must run after all earlier checks.
std::vector<bool> writers_over_leaves(const Graph& graph);

/// The item's layout, with offset 0: dense in its memory order, or with the strides that it has within a join.
Layout layout_of(const Item& item);
/// The layout of an item's elements and the item that holds them. Before materialize, which copies what a view without strides looks at, that may be such
/// a view's input.
struct Access {
  int base;
  Layout layout;
};
Access access_of(const Graph& graph, int item);
/// The place of item i, stored within no join, from those of the items before it. A view must have strides.
Place place_of(const Graph& graph, std::span<const Place> before, int i);
/// Those of all items, also within joins.
std::vector<Place> places(const Graph& graph);

/// Fills `out` with the scalars of the parameter block, eight bytes each (Number::bits): the given ones, then the derived ones.
void derive_constants(const Graph& graph, std::span<const std::uint64_t> given, std::vector<std::uint64_t>& out);

/// The op y = x as a computed value; passes insert it where a copy is needed.
const Ref<const Op>& copy_op();
/// The op that makes zeros; it has no inputs.
const Ref<const Op>& zeros_op();

/// Text of a flat graph, one item a line.
std::string to_string(const Graph& graph);

/// Checks the invariants every pass must keep (inputs come earlier, numbers in range, shapes of copies agree). Throws Error.
void verify(const Graph& graph, std::string_view after_pass);

/// Checks that each overwritten item holds what the writer expects: the bottom of a chain of overwrites (Spot::bottom) has the chain's dtype and number
/// of elements, and is a computed value, or a leaf whose update is the chain. Any other leaf lies elsewhere and nothing would copy it. After
/// materialize; throws Error naming the item.
void verify_overwritten(const Graph& graph);

/// Drops items that no result reads any more, and renumbers the rest.
///
/// After passes that leave items without readers.
void remove_dead(Graph& graph);

}  // namespace tegula::compile
