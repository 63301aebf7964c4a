#pragma once
// What a jit-ed function built when it was traced, and where it finds its leaves at a call.

#include <memory>

#include "tegula/compile/graph.h"
#include "tegula/graph/trace.h"
#include "tegula/graph/variable.h"

namespace tegula::compile {

/// Where a leaf of the traced graph gets its memory from at a call.
struct Source {
  enum class Kind : std::uint8_t { Argument, Cell, Captured } kind;
  int index = 0;        // Argument, Cell
  Ref<Node> captured;   // a tensor from outside: a constant
  bool operator==(const Source&) const = default;
};

/// One trace, as far as it must agree with the next.
struct Recorded {
  Reading reading;
  std::vector<Source> sources;         // per leaf
  std::vector<Ref<Cell>> cells;
  std::vector<Trace::Condition> conditions;
  std::vector<Ref<Node>> outputs;
  std::size_t asked = 0;  // so many of them are the function's results; the others run though nobody reads them (Trace::kept)
  std::shared_ptr<const Words> form;  // of the result they are parts of (graph/structure.h)
  std::vector<Ref<Node>> updates;  // new values, in the order of updated_cells
  std::vector<int> updated_cells;  // indices into cells
  std::vector<Ref<Node>> placeholders;  // of the updated cells
  std::vector<Ref<Node>> keep;  // what reading points into
};

/// Whether the traced function only reads it, call after call: a captured tensor, or a Variable that it does not write.
bool is_steady(const Recorded& recorded, const Source& source);
/// The same number for the same Variable or captured tensor in all traces of a function: the address of what the recording holds. 0: an argument.
std::uint64_t identity_of(const Recorded& recorded, const Source& source);

/// Throws Error when two traces of one signature differ, naming the first line of each at which they do.
void require_equal(const Recorded& first, const Recorded& second, const Line& where);

}  // namespace tegula::compile
