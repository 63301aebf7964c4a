// The arithmetic behind an index goes to where the index is read.

#include "tegula/compile/passes/fold/fold.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tegula/graph/structural.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

using Kind = Expression::Word::Kind;

constexpr std::size_t kMostOps = 8;  // that cost less than a launch

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  void run() {
    for (Item& item : graph_.items) {
      if (item.role() != Role::Kernel) continue;
      if (const int input = item.as<KernelOp>().input_read_by_index(); input >= 0) fold(item, input);
    }
    remove_dead(graph_);
  }

 private:
  void fold(Item& item, int input) {
    const int read = item.inputs[index(input)];
    if (graph_[read].role() != Role::Elementwise) return;
    Prologue prologue{.input = input, .shape = graph_[read].shape, .first_extra = static_cast<int>(item.inputs.size()), .value = {}};
    std::vector<int> memory;
    std::map<int, int> known;
    if (value(prologue, memory, known, read) < 0 || memory.empty() || prologue.value.words.back().kind == Kind::Memory) return;
    // The memory read replaces the index operand; further reads follow the other inputs.
    item.inputs[index(input)] = memory[0];
    item.inputs.insert(item.inputs.end(), memory.begin(), memory.end());
    item.prologue = std::move(prologue);
  }

  /// The number of the word that gives the item's element; -1 where it is more than arithmetic on numbers and its own place.
  int value(Prologue& prologue, std::vector<int>& memory, std::map<int, int>& known, int number, std::size_t depth = 0) {
    if (const auto found = known.find(number); found != known.end()) return found->second;
    if (graph_.place(number).waits) return -1;
    Access access = access_of(graph_, number);
    if (graph_[access.base].op == copy_op()) {  // of a number, which materialize put into memory for the kernel
      const Access copied = access_of(graph_, graph_[access.base].inputs[0]);
      if (graph_[copied.base].role() == Role::Scalar) access = copied;
    }
    const Item& base = graph_[access.base];
    Expression::Word word{.dtype = base.dtype};
    const bool single = numel(base.shape) == 1 && (base.role() == Role::Scalar || access.layout.offset == 0);
    if (base.role() == Role::Index) {
      const Shape& shape = access.layout.shape;
      if (shape.rank() != 1 || shape != prologue.shape) return -1;
      word.stride = access.layout.strides[0], word.offset = access.layout.offset;
      word.kind = Kind::Index;
    } else if (access.base == number && arithmetic(prologue, memory, known, number, depth, word)) {
      word.kind = Kind::Op, word.op = base.op;
    } else if (single) {
      word.kind = base.role() == Role::Scalar ? Kind::Number : Kind::Memory;
      word.input = prologue.first_extra + static_cast<int>(memory.size());
      memory.push_back(access.base);
    } else {
      return -1;
    }
    return known[number] = prologue.value.add(std::move(word));
  }

  /// True if all inputs of the item have words from value(), which become the operands of its word.
  bool arithmetic(Prologue& prologue, std::vector<int>& memory, std::map<int, int>& known, int number, std::size_t depth,
                  Expression::Word& word) {
    const Item& item = graph_[number];
    if (item.role() != Role::Elementwise || item.shape != prologue.shape || !is_integer(item.dtype)) return false;
    const auto& op = item.as<ElementwiseOp>();
    if (op.has_check() || op.numerics() != Numerics::Either || prologue.value.words.size() >= kMostOps || depth >= kMostOps) return false;
    const auto before = std::tuple(prologue.value, memory, known);
    std::vector<int> operands;
    for (const int input : item.inputs) {
      operands.push_back(value(prologue, memory, known, input, depth + 1));
      if (operands.back() >= 0) continue;
      std::tie(prologue.value, memory, known) = before;
      return false;
    }
    word.operands = std::move(operands);
    return true;
  }

  Graph& graph_;
};

}  // namespace

void fold_indices(Graph& graph) { Folder(graph).run(); }

}  // namespace tegula::compile
