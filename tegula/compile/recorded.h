#pragma once
// The result of tracing a jit-ed function: its graph, and the sources of its leaves at a call.

#include <memory>

#include "tegula/compile/graph.h"
#include "tegula/graph/trace.h"
#include "tegula/graph/variable.h"

namespace tegula::compile {

/// The source of a leaf's memory at a call.
struct Source {
  enum class Kind : std::uint8_t { Argument, Cell, Captured } kind;
  int index = 0;        // Argument, Cell
  Ref<Node> captured;   // a tensor from outside: a constant
  bool operator==(const Source&) const = default;
};

/// One trace: the parts that must equal those of the next trace.
struct Recorded {
  Reading reading;
  std::vector<Source> sources;         // per leaf
  std::vector<Ref<Cell>> cells;
  std::vector<Trace::Condition> conditions;
  std::vector<Ref<Node>> outputs;
  std::size_t asked = 0;  // the first `asked` outputs are the function's results; the others run although nothing reads them (Trace::kept)
  std::shared_ptr<const Words> form;  // of the result they are parts of (graph/structure.h)
  std::vector<Ref<Node>> updates;  // new values, in the order of updated_cells
  std::vector<int> updated_cells;  // indices into cells
  std::vector<Ref<Node>> placeholders;  // of the updated cells
  std::vector<Ref<Node>> keep;  // owners of the nodes that `reading` points to
};

/// True if the traced function only reads the source: a captured tensor, or a Variable that it does not write.
bool is_steady(const Recorded& recorded, const Source& source);
/// A number that identifies a Variable or captured tensor in all traces of a function (the address of the object held). 0: an argument.
std::uint64_t identity_of(const Recorded& recorded, const Source& source);

/// Throws Error when two traces of one signature differ, naming the first line of each at which they do.
void require_equal(const Recorded& first, const Recorded& second, const Line& where);

}  // namespace tegula::compile
