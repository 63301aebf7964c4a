#pragma once
// The flat graph the passes work on: nodes as items in program order, addressed by number.

#include <unordered_map>
#include <vector>

#include "tegula/core/rare.h"
#include "tegula/graph/node.h"

namespace tegula::compile {

/// An input of a kernel whose elements the kernel computes itself: a few words of arithmetic on the element's index and on numbers.
struct Computed {
  struct Word {
    enum class Kind : std::uint8_t { Op, Index, Number, Memory } kind = Kind::Op;
    Ref<const Op> op;           // Op: an ElementwiseOp
    std::vector<int> operands;  // Op: earlier words. Number, Memory (of one element): which of the item's further inputs
    std::int64_t stride = 1, offset = 0;  // Index: index * stride + offset
    DType dtype = DType::i64;
  };
  int input = -1;  // -1: none
  Shape shape;
  DType dtype = DType::i64;
  int first_extra = 0;  // of the further inputs
  std::vector<Word> words;  // the last one is the element
};

/// Where a value lies that is stored within a join of it and others, instead of in a place of its own.
struct Within {
  int whole = -1;  // the join, a later item that reads it; -1: it has its own place
  Layout layout;   // of the value over the elements of the join
};

struct Item {
  Ref<const Op> op;
  std::vector<int> inputs;  // numbers of earlier items
  Shape shape;
  DType dtype = DType::f32;
  std::vector<Result> results;  // of an op with several: the item has no value, its parts have, and they alone read it
  bool rounds = false;  // a half that whoever computes it rounds, not only who stores it: what reads it sees one value, wherever from
  Precision precision = Precision::fp32;  // of its node
  Origin origin;
  int node = -1;                 // its place in Reading::order; -1 for what passes inserted
  int slot = -1;                 // Leaf: which leaf. Scalar: which constant
  LibraryOp::Epilogue epilogue;  // Library: what was folded in
  Dims order;                    // memory order of the value's axes, outermost first; empty: row-major
  int seen = -1;                 // of what shows its input, after materialize: its entry in Graph::seen
  Rare<Computed> computed;       // Kernel
  Rare<Within> within;           // after store_within
  bool assembled = false;        // Kernel, a join: all its pieces are stored within it, and nothing is left to do

  Role role() const { return op->role(); }
  bool is_part() const { return role() == Role::Part; }
  /// Its value is its first input, in memory: a view or a barrier. Behind simplify no other op that shows its input is left.
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

/// What a view or a barrier shows, found from what the one below it shows: nobody walks down chains of them again.
struct Seen {
  int base = -1;       // an item that does not show its input
  Layout layout;       // over the base's buffer
  bool waits = false;  // it or one below it is a barrier
  bool plain = false;  // see Through, with the axes
  std::array<int, kMaxRank> axes{};
};

struct Graph {
  std::vector<Item> items;
  std::vector<Seen> seen;
  std::vector<Leaf> leaves;
  std::vector<DType> constants;  // one entry of the parameter block each; the derived ones come last
  struct Derived {
    Ref<const Op> op;            // an ElementwiseOp
    std::vector<int> inputs;     // earlier constants
    DType rounded = DType::f64;  // rounded to the numbers of this dtype
  };
  std::vector<Derived> derived;  // numbers made of numbers, computed by the host before a run
  std::vector<int> outputs;      // results that leave, each in a buffer of its own
  struct Update {
    int leaf;  // a Variable's value …
    int item;  // … becomes this
  };
  std::vector<Update> updates;

  Item& operator[](int i) { return items[static_cast<std::size_t>(i)]; }
  const Item& operator[](int i) const { return items[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(items.size()); }
};

/// A pending graph read off its nodes: the structural key, and what differs between two graphs of equal key.
struct Reading {
  Words key;
  std::vector<const Node*> order;      // every node, program order; nodes with a value are leaves
  std::vector<const Node*> leaves;     // by first visit
  std::vector<std::uint64_t> constants;  // by first visit, as Number::bits
  std::vector<const Node*> constant_nodes;
  std::vector<int> uses;               // per node of `order`: how many inputs of others it is
  std::vector<std::size_t> inputs;       // of all nodes, one after the other, as places in `order`
  std::vector<std::size_t> first_input;  // where a node's begin; one more at the end

  std::span<const std::size_t> inputs_of(std::size_t i) const {
    return std::span(inputs).subspan(first_input[i], first_input[i + 1] - first_input[i]);
  }
};

/// Whether evaluation stops there: a node with a value, or an argument of a trace.
bool is_leaf(const Node& node);

/// Reads the graph below `roots`, up to nodes that have a value (or are leaves without one: arguments of a trace).
Reading read(std::span<const Node* const> roots);

/// The flat graph of a reading. `updates[i]` says that leaf `first` receives the value of root `second`.
Graph flatten(const Reading& reading, std::span<const Node* const> outputs, std::span<const std::pair<const Node*, const Node*>> updates);

/// Bytes of a stored item.
std::size_t bytes_of(const Item& item);

/// The item that computes item i: of a part, the one that it is a part of.
int producer_of(const Graph& graph, int i);
/// Which of its results the item is.
int result_of(const Graph& graph, int i);
/// The item that a view looks at, through those below it (after materialize); itself of what is no view.
inline int below_views(const Graph& graph, int i) {
  return graph[i].shows_input() ? graph.seen[static_cast<std::size_t>(graph[i].seen)].base : i;
}
/// The items that hold its results, one for each; -1 where nothing reads that one. Of an op with one result, the item itself.
class ValuesOf {
 public:
  explicit ValuesOf(const Graph& graph);  // which stays as it is meanwhile
  std::vector<int> operator()(int i) const;

 private:
  const Graph& graph_;
  std::unordered_map<int, std::vector<int>> parts_;  // of items with several results
};

/// Whether what computes the item may fail.
bool has_check(const Item& item);
/// Which input of the op its result takes over the storage of (KernelOp::overwrites); -1: none.
int input_overwritten(const Op& op, int result = 0);
/// Those of all its results.
std::vector<int> inputs_overwritten(const Item& item);
/// The value or leaf that the item writes over, below its views; -1 where it has a place of its own.
int overwritten(const Graph& graph, int i);
/// Of each item, whether it writes a result over a leaf: what does comes behind all checks ahead of it.
std::vector<bool> writers_over_leaves(const Graph& graph);
/// Of each item, the value or leaf at the bottom of a chain of those: all of the chain have one place.
std::vector<int> storage_roots(const Graph& graph);

/// The item's elements in memory: a dense layout in its memory order, or strides within a join. Counted from its first element.
Layout layout_of(const Item& item);

/// Where an item lies within the outermost join that it is stored in. Two items of one root share memory exactly where their stretches meet:
/// the elements of a join are numbered piece by piece, so that each piece is one stretch, however it lies.
struct Spot {
  int root = -1;  // the item itself where it has its own place
  std::int64_t offset = 0;  // of its first element, in elements of the root
  std::int64_t first = 0, last = 0;  // the stretch: [first, last)
  bool meets(const Spot& other) const { return root == other.root && first < other.last && other.first < last; }
};
/// Of all items.
std::vector<Spot> spots(const Graph& graph);

/// What the numbers of the parameter block are, each in eight bytes (Number::bits): those that were given and those made of them.
void derive_constants(const Graph& graph, std::span<const std::uint64_t> given, std::vector<std::uint64_t>& out);

/// x itself as a computed value: what the compiler inserts where a copy is needed.
const Ref<const Op>& copy_op();
/// Zeros, of nothing.
const Ref<const Op>& zeros_op();

/// Text of a flat graph, one item a line.
std::string to_string(const Graph& graph);

/// Checks the invariants every pass must keep (inputs come earlier, numbers in range, shapes of copies agree). Throws Error.
void verify(const Graph& graph, std::string_view after_pass);

/// Checks that what is written over has been written, as what it becomes: at the bottom of a chain of such items (storage_roots) is a value of their dtype
/// and as many elements, which is computed, or a leaf whose update the chain is. Any other leaf lies elsewhere, and nobody copies it. After
/// materialize; throws Error naming the item.
void verify_overwritten(const Graph& graph);

/// How many items, outputs and updates read each item.
std::vector<int> count_uses(const Graph& graph);

/// Removes items that nothing needs and renumbers the rest.
void remove_dead(Graph& graph);

}  // namespace tegula::compile
